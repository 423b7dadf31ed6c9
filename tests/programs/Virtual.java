// Virtual threads that call f() twelve deep, give way there, and go on: only some of their frames are on the stack then.   MS
import java.util.concurrent.*;

public class Virtual {
    static volatile long sink;

    static int spin(int n) {
        int s = 0;
        for (int i = 0; i < n; i++)
            s += i ^ (s & 7);
        return s;
    }

    static int f(int depth) {
        if (depth == 0) {
            Thread.yield();
            return spin(20000);
        }
        int r = f(depth - 1);
        sink += spin(3000);
        return r + 1;
    }

    static void work(long till) {
        while (System.currentTimeMillis() < till)
            sink += f(12);
    }

    public static void main(String[] args) throws Exception {
        long till = System.currentTimeMillis() + Long.parseLong(args[0]);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 20; i++)
                threads.submit(() -> work(till));
        }
    }
}
