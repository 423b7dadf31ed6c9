/* Calls in a known order: m0() calls m1(), .. m7() calls m0(), the deepest calls spin(). test_java.py has some of them compiled, others not.
 * Their frames differ in arguments and locals. */
public class Chain {
    static volatile long sink;
    static long spin(int n) { long s = n; for (int i = 0; i < 300; i++) s += s * i ^ (s >> 3); return s; }
    static long m0(int d, long a) {
        long sum = d;
        if (d == 0) return spin((int) sum);
        long r9 = m1(d - 1, sum, 2, 3, 4, 5, 6, 7);
        return r9 + sum;
    }
    static long m1(int d, long a, long b, long c, long e, long f, long g, long h) {
        long sum = d;
        long[] many = new long[4]; for (int z = 0; z < 4; z++) many[z] = sum * z;
        if (d == 0) return spin((int) sum);
        long r9 = m2(d - 1, 1.5 * sum, 2.5);
        return r9 + sum + many[(int) (r9 & 3)];
    }
    static long m2(int d, double x, double y) {
        long sum = d;
        if (d == 0) return spin((int) sum);
        long r9 = m3(d - 1);
        return r9 + sum;
    }
    static long m3(int d) {
        long sum = d;
        if (d == 0) return spin((int) sum);
        long r9 = m4(d - 1, null, "x", 1, 2, 3, 4, 5, 6);
        return r9 + sum;
    }
    static long m4(int d, Object o, String s, int p, int q, int r, int t, int u, int v) {
        long sum = d;
        long[] many = new long[4]; for (int z = 0; z < 4; z++) many[z] = sum * z;
        if (d == 0) return spin((int) sum);
        long r9 = m5(d - 1, sum);
        return r9 + sum + many[(int) (r9 & 3)];
    }
    static long m5(int d, long a) {
        long sum = d;
        if (d == 0) return spin((int) sum);
        long r9 = m6(d - 1, 0.5);
        return r9 + sum;
    }
    static long m6(int d, double x) {
        long sum = d;
        if (d == 0) return spin((int) sum);
        long r9 = m7(d - 1, sum, 1, 2, 3, 4, 5, 6, 7);
        return r9 + sum;
    }
    static long m7(int d, long a, long b, long c, long e, long f, long g, long h, long k) {
        long sum = d;
        long[] many = new long[4]; for (int z = 0; z < 4; z++) many[z] = sum * z;
        if (d == 0) return spin((int) sum);
        long r9 = m0(d - 1, sum);
        return r9 + sum + many[(int) (r9 & 3)];
    }
    static long run(int d) { return m0(d, 1); }
    public static void main(String[] a) {
        java.lang.management.ThreadMXBean t = java.lang.management.ManagementFactory.getThreadMXBean();
        long until = Long.parseLong(a[0]) * 1000000;
        for (int d = 5; t.getCurrentThreadCpuTime() < until; d = d % 37 + 3)
            sink += run(d);
        System.out.println(sink);
    }
}
