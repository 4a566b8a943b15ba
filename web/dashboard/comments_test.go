package dashboard

import (
	"bytes"
	"path"
	"strings"
	"testing"
)

func TestCommentsOfWholeLinesAreLeftOut(t *testing.T) {
	for source, want := range map[string]string{
		"// one\nlet a; // two\n\t// three\n":                                        "\nlet a; // two\n\n",
		"/** one */\nlet a = /** @type {any} */ (b);\n/** @type {any} */ (a).b();\n": "\nlet a = /** @type {any} */ (b);\n/** @type {any} */ (a).b();\n",
		"/**\n * one **\n */\nlet a; /* two */\nlet b;\n":                            "\n\n\nlet a; /* two */\nlet b;\n",
		"/* one */ let a; /* two */\nlet b; /* three\n*/":                            "/* one */ let a; /* two */\nlet b; /* three\n*/",
		".a { color: red; }\n/* one\n   two */\n.b { }":                              ".a { color: red; }\n\n\n.b { }",
		"let a = 'https://example.com';\n":                                           "let a = 'https://example.com';\n",
	} {
		if got := string(uncommented([]byte(source))); got != want {
			t.Errorf("%q becomes %q, want %q", source, got, want)
		}
	}
}

// TestNoTextIsTakenForAComment: no line of a template begins like one.
func TestNoTextIsTakenForAComment(t *testing.T) {
	for _, name := range sourceFiles(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		source := read(t, name)
		short := uncommented(source)
		if bytes.Count(short, []byte("\n")) != bytes.Count(source, []byte("\n")) {
			t.Errorf("%s: lines moved", name)
		}
		was, open := strings.Split(string(source), "\n"), false
		for i, line := range strings.Split(string(short), "\n") {
			if open && line != was[i] {
				t.Errorf("%s:%d is left out of a text: %s", name, i+1, was[i])
			}
			open = open != (strings.Count(line, "`")%2 == 1)
		}
	}
}
