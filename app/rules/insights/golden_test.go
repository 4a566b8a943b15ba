package insights

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/tracking"
	"mailer/app/testing/apptest"
)

var update = flag.Bool("update", false, "write what is read of the mails in testdata/htmltext anew")

// golden compares with a file in testdata/htmltext.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "..", "testing", "apptest", "testdata", "htmltext", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, lines := strings.Split(string(raw), "\n"), strings.Split(got, "\n")
	if len(lines) != len(want) {
		t.Errorf("%s: %d lines, want %d", name, len(lines), len(want))
	}
	for i := range min(len(lines), len(want)) {
		if lines[i] != want[i] {
			t.Errorf("%s, line %d:\n got %q\nwant %q", name, i+1, lines[i], want[i])
			return
		}
	}
}

// readings returns everything derived from the HTML of a mail: its text, the findings, and the
// rewritten links.
func readings(source string) (text, found, links string) {
	m := &app.Mail{From: app.Address{Local: "ann", Domain: "mail.example.com"}, Subject: "Hi", HTML: source, Text: "Hi"}
	scanned := tracking.Scan(source)
	links = scanned.Rewrite(source, func(target string) string { return "https://t.test/?" + target }, "")
	return htmltext.PlainText(source), strings.Join(OfMail(m, false, "https://mailer.test").Found, " "), links
}

// TestGoldenInsights: the golden files were made with x/net's tokenizer; the own tokenizer must
// give the same results.
func TestGoldenInsights(t *testing.T) {
	paths, err := filepath.Glob("../../testing/apptest/testdata/htmltext/*.html")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d mails, %v", len(paths), err)
	}
	var found strings.Builder
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".html")
		text, penalties, links := readings(string(raw))
		golden(t, name+".text", text)
		golden(t, name+".links", links)
		found.WriteString(name + ": " + penalties + "\n")
	}
	golden(t, "found", found.String())
}

func TestGoldenInsightsOfGeneratedMail(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2026))
	short := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:4])
	}
	var sums strings.Builder
	for range 2000 {
		source := apptest.GeneratedMail(r)
		text, found, links := readings(source)
		sums.WriteString(short(source) + " " + short(text+"\x00"+found+"\x00"+links) + "\n")
	}
	golden(t, "generated.sums", sums.String())
}
