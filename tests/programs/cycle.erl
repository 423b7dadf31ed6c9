% Three functions that call each other in a cycle, twice each, one of them by apply(); and C that Erlang calls: lists:reverse(), garbage
% collection.   main(MS)
-module(cycle).
-export([main/1, f0/2, f1/2, f2/2]).
f0(0, L) -> length(lists:reverse(L));
f0(N, L) -> f1(N - 1, [N | L]) + f1(N - 1, L).
f1(0, L) -> length(lists:reverse(L));
f1(N, L) -> apply(element(1, {?MODULE}), element(1, {f2}), [N - 1, [N | L]]) + f2(N - 1, L).
f2(0, L) -> length(lists:reverse(L));
f2(N, L) -> f0(N - 1, [N | L]) + f0(N - 1, L).
loop(E) -> {T, _} = statistics(runtime), if T > E -> ok; true -> f0(12, []), loop(E) end.
main([MS]) -> loop(list_to_integer(MS)), halt().
