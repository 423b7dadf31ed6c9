/* What test_java.py records: compiled methods, interpreted ones, lambdas, calls into the JVM; two threads. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

public class Java {
    static long sink;

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static long inner(long n) {
        long sum = 0;
        for (long i = 0; i < n; i++)
            sum += i * i ^ sum >> 3;
        return sum;
    }

    static long outer(long n) {
        long sum = 0;
        for (int i = 0; i < 20; i++)
            sum += inner(n);
        return sum;
    }

    static int count(int n) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < n; i++)
            counts.merge("k" + i % 97, 1, Integer::sum);
        return counts.size();
    }

    static int sorted(int n) {
        int[] numbers = new Random(1).ints(n).toArray();
        Arrays.sort(numbers);
        return numbers[n / 2];
    }

    /* CPU time, so that a loaded machine leaves as many samples */
    static void work(long millis) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        while (threads.getCurrentThreadCpuTime() < millis * 1000000)
            sink += fib(23) + outer(3000) + count(1000) + sorted(2000);
    }

    public static void main(String[] args) throws InterruptedException {
        long millis = Long.parseLong(args[0]);
        Thread other = new Thread(() -> work(millis));
        other.start();
        work(millis);
        other.join();
        System.out.println(sink);
    }
}
