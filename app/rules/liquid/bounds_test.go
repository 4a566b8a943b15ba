package liquid

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// hostileDocuments take more than a run may, or look as if they did.
var hostileDocuments = []struct {
	name   string
	source string
	limit  bool   // the run passes a bound
	fault  string // of the document
}{
	{"nested loops", nested("{% for i in (1..20) %}", "x", "{% endfor %}", 10), true, ""},
	{"a range of a billion", "{% for i in (1..1000000000) %}{% endfor %}", true, ""},
	{"the first of a billion", "{% for i in (1..1000000000) limit: 5 %}{{ i }}{% endfor %}", false, ""},
	{"the last of a billion", "{% for i in (1..1000000000) reversed offset: 999999999 %}{{ i }}{% endfor %}", false, ""},
	{"a range of all integers", "{% for i in (-9223372036854775808..9223372036854775807) %}{% endfor %}", true, ""},
	{"ten thousand iterations", "{% for i in (1..10000) %}{% endfor %}", false, ""},
	{"ten thousand and one iterations", "{% for i in (1..10001) %}{% endfor %}", true, ""},
	{"doubling", `{% assign x = "x" %}{% for i in (1..40) %}{% assign x = x | append: x %}{% endfor %}`, true, ""},
	{"doubling in captures", `{% assign x = "x" %}{% for i in (1..40) %}{% capture x %}{{ x }}{{ x }}{% endcapture %}{% endfor %}`, true, ""},
	{"a replacement at each character", `{% assign x = big | replace: "", big %}`, true, ""},
	{"a replacement by a long text", `{% assign x = big | replace: "a", big %}`, true, ""},
	{"a split into characters", `{% assign x = big | split: "" %}{{ x[5] }}`, false, ""},
	{"two splits into characters", `{% assign x = big | split: "" %}{% assign y = big | split: "" %}`, true, ""},
	{"a joint by a long text", `{{ big | split: "" | join: big }}`, true, ""},
	{"lists that double", `{% assign x = big | slice: 0, 100 | split: "" %}{% for i in (1..40) %}{% assign x = x | concat: x %}{% endfor %}`, true, ""},
	{"sorting a long list", `{% assign x = big | split: "" | sort %}`, true, ""},
	{"distinct values of a long list", `{% assign x = numbers | uniq %}{% for i in (1..20) %}{% assign x = numbers | concat: x | uniq %}{% endfor %}`, true, ""},
	{"one MiB of output", `{% for i in (1..16) %}{{ big }}{% endfor %}`, false, ""},
	{"more than one MiB of output", `{% for i in (1..17) %}{{ big }}{% endfor %}`, true, ""},
	{"more than one MiB of fixed text", `{% for i in (1..10000) %}` + strings.Repeat("x", 105) + `{% endfor %}`, true, ""},
	{"filters on a long text", `{% assign x = big` + strings.Repeat(" | upcase | downcase", 60) + ` %}`, true, ""},
	{"comparisons of long texts", `{% for i in (1..1000) %}{% if big == big or big contains "b" or big < big or big == blank %}{% endif %}{% endfor %}`, true, ""},
	{"sizes of a long text", `{% for i in (1..1000) %}{% if big.size == 1 %}{% endif %}{% endfor %}`, true, ""},
	{"dates of a long text", `{% for i in (1..1000) %}{{ big | date: "%Y" }}{% endfor %}`, true, ""},
	{"a long format of a date", `{% assign f = "%c%c%c%c%c%c%c%c" %}{% for i in (1..12) %}{% assign f = f | append: f %}{% endfor %}{{ "now" | date: f }}`, true, ""},
	{"ten thousand outputs", strings.Repeat("{{ word }}", 10_000), false, ""},
	{"a hundred thousand outputs", strings.Repeat("{{ word }}", 100_000), true, ""},
	{"a long condition", "{% if " + strings.Repeat("word == word and ", 60_000) + "true %}{% endif %}", true, ""},
	{"20 blocks", nested("{% if true %}", "x", "{% endif %}", 20), false, ""},
	{"21 blocks", nested("{% if true %}", "x", "{% endif %}", 21), false, "has more than 20 blocks"},
	{"100,000 blocks", strings.Repeat("{% if true %}", 100_000), false, "has more than 20 blocks"},
	{"20 indexes", "{{ " + nested("list[", "0", "]", 20) + " }}", false, ""},
	{"100,000 indexes", "{{ " + strings.Repeat("list[", 100_000), false, "never ends"},
	{"100,000 closed indexes", "{{ " + nested("list[", "0", "]", 100_000) + " }}", false, "more than 20 indexes"},
	{"a cycle of many values", "{% for i in (1..9000) %}{% cycle " + strings.Repeat("1,", 5000) + " 2 %}{% endfor %}", false, ""},
	{"all of forloop", nested("{% for i in (1..2) %}", "{{ forloop.parentloop.parentloop.index }}{{ forloop }}", "{% endfor %}", 12), false, ""},
}

// nested repeats open and end around a text.
func nested(open, text, end string, n int) string {
	return strings.Repeat(open, n) + text + strings.Repeat(end, n)
}

// hostileEnv has a text of 64 KiB with 1 MiB of output in 16 of them, and a list of 500 numbers.
func hostileEnv(t testing.TB) *document {
	var numbers []string
	for i := range 500 {
		numbers = append(numbers, fmt.Sprint(i))
	}
	values, err := FromJSON([]byte(`{"word": "word", "list": [0], "numbers": [` + strings.Join(numbers, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	values.list.index["big"] = len(values.list.keys)
	values.list.keys = append(values.list.keys, "big")
	values.list.values = append(values.list.values, String(strings.Repeat("a", maxString)))
	return &document{values: values}
}

func TestHostileDocumentsStayWithinBounds(t *testing.T) {
	for _, c := range hostileDocuments {
		d := hostileEnv(t)
		d.source = c.source
		out, err := d.render()
		var fault *Error
		switch {
		case c.fault != "":
			if !errors.As(err, &fault) || !strings.Contains(fault.Text, c.fault) {
				t.Errorf("%s: %v, want a fault: %s", c.name, err, c.fault)
			}
		case errors.Is(err, ErrLimit) != c.limit || err != nil && !c.limit:
			t.Errorf("%s: %v, limit %t", c.name, err, c.limit)
		}
		if len(out) > maxOutput {
			t.Errorf("%s: %d bytes of output", c.name, len(out))
		}
	}
}

func FuzzAnySource(f *testing.F) {
	for _, source := range fixedDocuments {
		f.Add(source)
	}
	for _, c := range hostileDocuments {
		if len(c.source) < 1000 {
			f.Add(c.source)
		}
	}
	f.Add("<a\xff" + strings.Repeat("\xfe", 70) + " x>") // lower case is longer
	d := hostileEnv(f)
	f.Fuzz(func(_ *testing.T, source string) {
		for _, d.html = range []bool{false, true} {
			d.source = source
			_, _ = d.render()
		}
	})
}
