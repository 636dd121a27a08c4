import java.io.*;
import java.lang.reflect.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import javax.tools.*;

/** Compiles or runs many programs in one virtual machine. Arguments: `compile` or `run`, then folders. */
public class Batch {
    public static void main(String[] args) throws Exception {
        for (int i = 1; i < args.length; i++) {
            Path folder = Path.of(args[i]);
            if (args[0].equals("compile")) compile(folder);
            else run(folder);
        }
    }

    /** The one source in the folder, into `classes`; what javac says goes to `said`. */
    static void compile(Path folder) throws Exception {
        Path source;
        try (DirectoryStream<Path> sources = Files.newDirectoryStream(folder, "*.java")) {
            source = sources.iterator().next();
        }
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        ToolProvider.getSystemJavaCompiler().run(null, said, said, "-proc:none", "-nowarn", "-encoding", "UTF-8",
            "-d", folder.resolve("classes").toString(), source.toString());
        Files.write(folder.resolve("said"), said.toByteArray());
    }

    /** The class that the file `main` names, on the input 21; what it prints goes to `printed`. */
    static void run(Path folder) throws Exception {
        String name = Files.readString(folder.resolve("main"));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = System.out;
        System.setIn(new ByteArrayInputStream("21\n".getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(printed, true));
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.resolve("classes").toUri().toURL()})) {
            Method main = Class.forName(name, true, loader).getMethod("main", String[].class);
            main.setAccessible(true);
            main.invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(out);
        }
        Files.write(folder.resolve("printed"), printed.toByteArray());
    }
}
