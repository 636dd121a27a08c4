// The kernel of Java, over the API of its shell: guest/envd/kernels.py says what it reads and writes. Variables of a
// cell's environment are system properties, as a Java process can't change its environment.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import jdk.jshell.*;

class Kernel {
    static final OutputStream WORDS;
    static final InputStream CELLS;
    static {
        try {
            WORDS = new FileOutputStream("/dev/fd/4");
            CELLS = new BufferedInputStream(new FileInputStream("/dev/fd/3"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray())
            if (c >= ' ' && c < 127 && c != '"' && c != '\\') out.append(c);
            else out.append(String.format("\\u%04x", (int) c));
        return out.append('"').toString();
    }

    static synchronized void say(String type, String... fields) {
        StringBuilder out = new StringBuilder("{\"type\": " + quoted(type));
        for (int n = 0; n < fields.length; n += 2) out.append(", \"" + fields[n] + "\": " + fields[n + 1]);
        try {
            WORDS.write(out.append("}\n").toString().getBytes(StandardCharsets.US_ASCII));
        } catch (IOException error) {
            System.exit(1);
        }
    }

    static String next() throws IOException {
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        int one;
        while ((one = CELLS.read()) > 0) found.write(one);
        if (one < 0) System.exit(0);
        return found.toString(StandardCharsets.UTF_8);
    }

    static PrintStream stream(String type) {
        return new PrintStream(new OutputStream() {
            @Override public void write(int one) { write(new byte[] {(byte) one}, 0, 1); }
            @Override public void write(byte[] data, int start, int size) {
                String now = System.currentTimeMillis() + "000000";
                say(type, "text", quoted(new String(data, start, size, StandardCharsets.UTF_8)), "timestamp", now);
            }
        }, true, StandardCharsets.UTF_8) { }; // a subclass: its println writes the text and the line's end apart
    }

    static void fail(String name, String value, String lines) {
        say("error", "name", quoted(name), "value", quoted(value), "traceback", quoted(lines));
    }

    static final BlockingQueue<String[]> READY = new LinkedBlockingQueue<>();
    static volatile int cell; // that runs, 0 between two
    static volatile int interrupted;

    /** End the cell. What catches all that ends it is ended again, until it is hit outside of a `try`. */
    static void interrupt(JShell shell, int number) throws InterruptedException {
        interrupted = number;
        for (int times = 0; cell == number && number > 0; times++) {
            shell.stop();
            if (times < 50) Thread.sleep(1);
        }
    }

    static boolean evaluated(JShell shell, String source, boolean last) {
        List<SnippetEvent> events = shell.eval(source);
        if (interrupted == cell) return false; // what it was ended with is no event
        for (SnippetEvent event : events) {
            Snippet snippet = event.snippet();
            if (event.causeSnippet() != null) continue;
            if (event.status() == Snippet.Status.REJECTED) {
                StringBuilder why = new StringBuilder();
                shell.diagnostics(snippet).forEach(one -> why.append(one.getMessage(Locale.ROOT)).append('\n'));
                fail("CompilationException", why.toString().strip(), source);
                return false;
            }
            if (event.exception() != null) {
                Exception error = event.exception();
                String name = error instanceof EvalException thrown ? thrown.getExceptionClassName() : "Error";
                StringBuilder lines = new StringBuilder(name + ": " + error.getMessage());
                for (StackTraceElement one : error.getStackTrace()) lines.append("\n    at " + one);
                fail(name, String.valueOf(error.getMessage()), lines.toString());
                return false;
            }
            String value = event.value();
            boolean shown = snippet.kind() == Snippet.Kind.EXPRESSION
                || snippet.subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND;
            if (!last || !shown || value == null || value.isEmpty()) continue;
            if (value.startsWith("\"")) value = value.substring(1, value.length() - 1);
            say("result", "is_main_result", "true", "text", quoted(value));
        }
        return true;
    }

    static void run(JShell shell, int number, String[] given) {
        String rest = given[0];
        Map<String, String> before = new HashMap<>();
        for (int n = 2; n < given.length; n += 2) before.put(given[n], System.setProperty(given[n], given[n + 1]));
        while (!rest.isBlank() && interrupted != number) {
            SourceCodeAnalysis.CompletionInfo info = shell.sourceCodeAnalysis().analyzeCompletion(rest);
            String source = info.source() == null ? rest : info.source();
            rest = info.source() == null ? "" : info.remaining();
            if (!evaluated(shell, source, rest.isBlank())) break;
        }
        cell = 0;
        if (interrupted == number) {
            System.setOut(stream("stdout")); // it may have been ended within them
            System.setErr(stream("stderr"));
            fail("KeyboardInterrupt", "interrupted", "KeyboardInterrupt: interrupted");
        }
        before.forEach((name, value) -> {
            if (value == null) System.clearProperty(name); else System.setProperty(name, value);
        });
        say("done");
    }

    public static void main(String[] none) throws Exception {
        System.setOut(stream("stdout"));
        System.setErr(stream("stderr"));
        System.getenv().forEach((name, value) -> System.getProperties().putIfAbsent(name, value));
        JShell shell = JShell.builder().executionEngine("local").build();
        for (String one : "io math net nio.file util util.concurrent util.function util.regex util.stream".split(" "))
            shell.eval("import java." + one + ".*;");
        Thread runs = new Thread(() -> {
            try {
                for (int number = 1; true; number++) run(shell, number, READY.take());
            } catch (InterruptedException error) {
                System.exit(1);
            }
        });
        runs.start();
        for (int number = 0; true; ) {
            String code = next();
            int count = Integer.parseInt(next());
            if (count < 0) {
                interrupt(shell, number);
                continue;
            }
            String[] given = new String[2 + 2 * count];
            given[0] = code;
            for (int n = 2; n < given.length; n++) given[n] = next();
            cell = ++number;
            READY.add(given);
        }
    }
}
