"""exam_programs.py - programs of `make exam-regress` that do the same in each run: what compares them with themselves must say nothing."""
import os
import shutil

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PY_JSON = "import json,zlib,re\nfor i in range(%d):\n d={str(k):list(range(k%%30)) for k in range(300)}\n s=json.dumps(d); json.loads(s); zlib.compress(s.encode()); re.findall(r'\\d+', s)\n"
PY_SQL = ("import sqlite3,random\nrandom.seed(1)\nc=sqlite3.connect(':memory:')\nc.execute('create table t(a integer primary key,b text,c real)')\n"
          "c.executemany('insert into t values(?,?,?)',((i,str(random.random()),random.random()) for i in range(%d)))\n"
          "print(c.execute('select substr(b,3,2) g,sum(c),count(*) from t group by g order by 2').fetchall()[0])\n")
PY_AST = "import ast,tokenize,io\nt=open(ast.__file__).read()\nfor i in range(%d):\n ast.dump(ast.parse(t))\n list(tokenize.generate_tokens(io.StringIO(t[:20000]).readline))\n"
PERL = "my %%h; for my $i (1..%d) { my $k = ($i * 7919) %% 4001; $h{\"k$k\"} .= chr(65 + $i %% 26); $h{\"k$k\"} =~ s/A+B/C/g; } my @k = sort { length($h{$a}) <=> length($h{$b}) } keys %%h; print scalar(@k);\n"
SQL = ("create table t(a integer primary key, b text, c integer);\nwith recursive n(i) as (select 1 union all select i+1 from n where i<%d) "
       "insert into t select i, hex(i*7919), i*31%%1000 from n;\ncreate index x on t(c);\nselect count(*), sum(length(a.b)) from t a join t b on a.c=b.a where a.b like '%%3A%%';\n")
AWK = "BEGIN { for (i = 0; i < %d; i++) { s = sprintf(\"%%d,%%d\", i, i * 31); split(s, a, \",\"); t[a[2] %% 997] += a[1]; gsub(/1/, \"x\", s); n += length(s) } print n }\n"
CC = "#include <map>\nint main(int c,char**v){std::map<int,int> m;for(int i=0;i<c;i++)m[*v[i]]++;return (int)m.size();}\n"
C = "".join(f"int f{i}(int *a, int n) {{ int s = 0; for (int i = 0; i < n; i++) {{ if (a[i] > {i}) s += a[i] * {i + 3}; else s ^= a[i] >> {i % 7}; }} switch (s & 7) {{ case 1: return s + 1; case 2: return -s; case 3: return s * s; default: return s; }} }}\n" for i in range(16))


def programs(folder, seconds):
    """{name: command}: of about so many seconds on this kind of machine."""
    os.makedirs(folder, exist_ok=True)

    def write(name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def n(each_second):
        return max(1, int(each_second * seconds))

    data = write("data", "".join(f"{i * 7919 % 100003} {i * i % 911} {chr(97 + i % 23) * (i % 11)}\n" for i in range(n(500000))))
    found = {
        "python json": ["python3", write("w_json.py", PY_JSON % n(150))], "python sqlite": ["python3", write("w_sql.py", PY_SQL % n(220000))],
        "python ast": ["python3", write("w_ast.py", PY_AST % n(9))], "perl": ["perl", write("w.pl", PERL % n(700000))],
        "sqlite3": ["sqlite3", ":memory:", "-cmd", ".read " + write("w.sql", SQL % n(330000)), ".quit"], "awk": ["awk", "-f", write("w.awk", AWK % n(900000))],
        "xz": ["xz", "-k", "-0", "-T1", "-c", data], "gzip": ["gzip", "-k", "-9", "-c", data], "bzip2": ["bzip2", "-k", "-c", data], "zstd": ["zstd", "-q", "-8", "-c", data],
        "sort": ["sort", "-k", "2n", "-k", "3", "--parallel=1", data],
        "g++": ["g++", "-O1", "-S", "-o", "/dev/null", write("w.cc", CC)], "clang++": ["clang++", "-O1", "-S", "-o", "/dev/null", os.path.join(folder, "w.cc")],
        "gcc": ["gcc", "-O2", "-S", "-o", "/dev/null", write("w.c", C)], "node": ["node", "-e", f"let o={{}};for(let i=0;i<{n(600000)};i++){{o['k'+i%5003]=(o['k'+i%5003]||'')+i%10;}}JSON.stringify(o).replace(/1+2/g,'x')"],
    }
    if os.path.exists(os.path.join(TOP, ".git")):
        found["git"] = ["git", "-C", TOP, "log", "-p", "-n", str(n(600))]
    return {name: command for name, command in found.items() if shutil.which(command[0])}
