import java.nio.file.*;
import java.util.*;

/**
 * Reads a corpus of mergecheck and holds an engine's answers against the derived ones.
 *
 * <p>{@code java CorpusReader.java corpus-1.jsonl} prints what the corpus holds. An engine implements {@link Engine},
 * and is held against it by {@link #check}. Standard library only; cells stay as the JSON of the case file has them.
 */
public final class CorpusReader {
    static final long VERSION = 1;

    /** An engine under test. */
    public interface Engine {
        /** Sets the tables of a case up, merges, and answers; null if it does not support the case. */
        Answer merge(Map<String, Object> entry) throws Exception;
    }

    /** The rows after a merge, or the class of its error; metrics may be some of them. */
    public record Answer(List<Object> rows, Map<String, Long> metrics, String errorClass) {}

    public static void main(String[] args) throws Exception {
        List<Map<String, Object>> entries = read(Path.of(args[0]));
        Map<String, Integer> outcomes = new TreeMap<>(), rules = new TreeMap<>();
        long rows = 0;
        for (Map<String, Object> entry : entries) {
            Map<String, Object> derived = object(entry.get("derived"));
            outcomes.merge((String) derived.get("outcome"), 1, Integer::sum);
            for (Object rule : list(entry.get("rules"))) rules.merge((String) rule, 1, Integer::sum);
            if (derived.get("rows") != null) rows += list(derived.get("rows")).size();
        }
        System.out.println(entries.size() + " cases " + outcomes + ", " + rules.size() + " rules, " + rows + " rows");
        // two engines that need no database: one repeats the derived answers, the other one loses a row
        System.out.println("repeats: " + summary(entries, entry -> derivedAnswer(entry, 0)));
        System.out.println("loses a row: " + summary(entries, entry -> derivedAnswer(entry, 1)));
    }

    static String summary(List<Map<String, Object>> entries, Engine engine) throws Exception {
        int agree = 0, differ = 0, unsupported = 0;
        for (Map<String, Object> entry : entries) {
            Answer answer = engine.merge(entry);
            if (answer == null) unsupported++;
            else if (check(entry, answer).isEmpty()) agree++;
            else differ++;
        }
        return agree + " agree, " + differ + " differ, " + unsupported + " unsupported";
    }

    /** Lists in what an answer differs from the derived one, or from the other one that is as right. */
    public static List<String> check(Map<String, Object> entry, Answer answer) {
        List<String> found = differences(object(entry.get("derived")), answer);
        Object other = entry.get("derived_too");
        return found.isEmpty() || other == null ? found : differences(object(other), answer);
    }

    static List<String> differences(Map<String, Object> derived, Answer answer) {
        List<String> found = new ArrayList<>();
        boolean fails = derived.get("outcome").equals("fails");
        if (fails != (answer.errorClass() != null)) return List.of(fails ? "must fail" : "must not fail");
        if (fails) {
            if (!list(derived.get("error_classes")).contains(answer.errorClass())) found.add("error class");
            return found;
        }
        if (!bag(list(derived.get("rows"))).equals(bag(answer.rows()))) found.add("rows");
        Map<String, Object> bounds = object(derived.get("metrics"));
        answer.metrics().forEach((name, value) -> {
            List<Object> bound = list(bounds.getOrDefault(name, List.of(value, value)));
            boolean high = bound.get(1) == null || value <= (Long) bound.get(1);
            if (value < (Long) bound.get(0) || !high) found.add(name);
        });
        return found;
    }

    static Answer derivedAnswer(Map<String, Object> entry, int lost) {
        Map<String, Object> derived = object(entry.get("derived"));
        if (derived.get("outcome").equals("fails"))
            return new Answer(List.of(), Map.of(), (String) list(derived.get("error_classes")).get(0));
        Map<String, Long> metrics = new HashMap<>();
        object(derived.get("metrics")).forEach((name, bound) -> metrics.put(name, (Long) list(bound).get(0)));
        List<Object> rows = list(derived.get("rows"));
        return new Answer(rows.subList(Math.min(lost, rows.size()), rows.size()), metrics, null);
    }

    /** Counts equal rows; rows have no order. */
    static Map<Object, Integer> bag(List<Object> rows) {
        Map<Object, Integer> counts = new HashMap<>();
        for (Object row : rows) counts.merge(row, 1, Integer::sum);
        return counts;
    }

    public static List<Map<String, Object>> read(Path path) throws Exception {
        List<Map<String, Object>> entries = new ArrayList<>();
        for (String line : Files.readAllLines(path)) {
            Map<String, Object> entry = object(new Json(line).value());
            if (!Long.valueOf(VERSION).equals(entry.get("corpus_version")))
                throw new IllegalArgumentException("corpus_version " + entry.get("corpus_version") + " is unknown");
            entries.add(entry);
        }
        return entries;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return (List<Object>) value;
    }

    /** A JSON text: numbers without fraction are Long, others keep their text in a Double. */
    static final class Json {
        private final String text;
        private int at = 0;

        Json(String text) {
            this.text = text;
        }

        Object value() {
            char first = peek();
            if (first == '{') return members();
            if (first == '[') return items();
            if (first == '"') return string();
            int from = at;
            while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(from, at);
            return switch (word) {
                case "null" -> null;
                case "true" -> Boolean.TRUE;
                case "false" -> Boolean.FALSE;
                default -> word.matches("-?[0-9]+") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
            };
        }

        private Map<String, Object> members() {
            Map<String, Object> found = new LinkedHashMap<>();
            for (at++; peek() != '}'; skip(',')) {
                String name = string();
                expect(':');
                found.put(name, value());
            }
            at++;
            return found;
        }

        private List<Object> items() {
            List<Object> found = new ArrayList<>();
            for (at++; peek() != ']'; skip(',')) found.add(value());
            at++;
            return found;
        }

        private String string() {
            StringBuilder found = new StringBuilder();
            expect('"');
            for (char next = text.charAt(at++); next != '"'; next = text.charAt(at++)) {
                if (next != '\\') {
                    found.append(next);
                    continue;
                }
                char escaped = text.charAt(at++);
                if (escaped == 'u') {
                    found.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                } else found.append("bfnrt".indexOf(escaped) < 0 ? escaped : "\b\f\n\r\t".charAt("bfnrt".indexOf(escaped)));
            }
            return found.toString();
        }

        private char peek() {
            while (" \t".indexOf(text.charAt(at)) >= 0) at++;
            return text.charAt(at);
        }

        private void expect(char wanted) {
            if (peek() != wanted) throw new IllegalArgumentException("no '" + wanted + "' at " + at + " of " + text);
            at++;
        }

        private void skip(char separator) {
            if (peek() == separator) at++;
        }
    }
}
