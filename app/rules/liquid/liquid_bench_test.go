package liquid

import (
	"strings"
	"testing"
)

// discard is a Sink that drops everything.
type discard struct{}

func (discard) Text(*Token)          {}
func (discard) Value(*Token, string) {}
func (discard) Placeholder(*Token)   {}
func (discard) Leaf(*Token)          {}

// benchmark runs an HTML document.
func benchmark(b *testing.B, source string) {
	b.Helper()
	items := strings.TrimSuffix(strings.Repeat(`{"name": "Tea", "price": 3.5},`, 20), ",")
	values, err := FromJSON([]byte(`{"items": [` + items + `], "total": 120}`))
	if err != nil {
		b.Fatal(err)
	}
	tokens, err := ScanHTML(source)
	if err != nil {
		b.Fatal(err)
	}
	t, err := Build(tokens)
	if err != nil {
		b.Fatal(err)
	}
	names := map[string]Value{"contact.first_name": String("Ada"), "order": values}
	env := &Env{Lookup: func(name string) (Value, bool) { v, ok := names[name]; return v, ok }, Now: now}
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Run(env, discard{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOutputs10(b *testing.B) {
	benchmark(b, strings.Repeat(`<p>Hello {{ contact.first_name | default: "there" }}</p>`, 10))
}

func BenchmarkCondition(b *testing.B) {
	benchmark(b, `<p>{% if order.total > 100 and contact.first_name == "Ada" %}a{% else %}b{% endif %}</p>`)
}

func BenchmarkLoop20(b *testing.B) {
	benchmark(b, `<table>{% for i in order.items %}<tr><td>{{ forloop.index }}. {{ i.name }}</td><td>{{ i.price | number }}</td></tr>{% endfor %}</table>`)
}
