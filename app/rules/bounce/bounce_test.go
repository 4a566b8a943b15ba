package bounce

import (
	"os"
	"strings"
	"testing"
	"time"

	"mailer/app"
)

// replies returns the rows of testdata/replies.txt.
func replies(t testing.TB) (rows [][3]string) {
	b, err := os.ReadFile("testdata/replies.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.SplitN(line, "|", 3)
		if len(cells) != 3 {
			t.Fatalf("%q has no three cells", line)
		}
		rows = append(rows, [3]string{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])})
	}
	return rows
}

func TestClassifyReplies(t *testing.T) {
	rows := replies(t)
	if len(rows) < 200 {
		t.Errorf("%d replies", len(rows))
	}
	for _, row := range rows {
		j := Classify(Evidence{Status: row[1], Reply: row[2]})
		if got := string(j.Class) + " " + string(j.Reason); got != row[0] {
			t.Errorf("%s | %s: %s, want %s", row[1], row[2], got, row[0])
		}
	}
}

func TestReportedClassDecidesLast(t *testing.T) {
	for _, c := range []struct {
		e    Evidence
		want Reason
	}{
		{Evidence{ReportedClass: NoMailbox}, NoMailbox},
		{Evidence{ReportedClass: NoMailbox, Status: "5.5.0", Reply: "550 5.5.0 what?"}, NoMailbox},
		{Evidence{ReportedClass: NoMailbox, Status: "5.7.1"}, Policy},
		{Evidence{ReportedClass: NoMailbox, Status: "5.4.4"}, Unreachable},
		{Evidence{ReportedClass: NoMailbox, Reply: "550 blocked"}, Spam},
		{Evidence{ReportedClass: NoMailbox, Status: "4.2.0"}, Temporary},
		{Evidence{ReportedClass: NoMailbox, ReplyCode: 451}, Temporary},
		{Evidence{ReportedClass: ProviderList, Reply: "not sent again"}, ProviderList},
		{Evidence{ReportedClass: ProviderList, Reply: "not sent again, since it was called spam"}, ProviderList},
		{Evidence{ReportedClass: ProviderList, Status: "5.1.1"}, ProviderList},
		{Evidence{ReportedClass: ProviderList, Status: "5.7.1"}, Policy},
		{Evidence{ReportedClass: Full, ReplyCode: 550}, Full},
		{Evidence{Status: "5.1.1", Temporary: true}, Temporary},
		{Evidence{Status: "5.2.1", Reply: "disabled", Temporary: true}, Temporary},
		{Evidence{Status: "2.0.0"}, NoReason},
		{Evidence{Status: "9.9.9"}, NoReason},
		{Evidence{Status: "5.1.1.1"}, NoReason},
	} {
		if got := Classify(c.e).Reason; got != c.want {
			t.Errorf("%+v: %s, want %s", c.e, got, c.want)
		}
	}
}

func TestEveryReasonHasMeaning(t *testing.T) {
	for reason, m := range meanings {
		if (m.class == Hard) != (m.bounce == app.BouncePermanent) || m.class == "" || m.subType == "" || reason.Description() == "" {
			t.Errorf("%s: %+v", reason, m)
		}
	}
	for _, row := range phraseRows {
		if _, ok := meanings[row.reason]; !ok {
			t.Errorf("%s has no meaning", row.reason)
		}
	}
}

func TestDateIsNotAStatus(t *testing.T) {
	for text, want := range map[string]string{
		"until 5.12.26": "", "case 4.12.100": "", "host 5.1.1.1": "", "at 5.1": "", "version 5.8.1": "", "x5.1.1": "",
		"5.1.1": "5.1.1", "(5.2.2)": "5.2.2", "#5.7.1.": "5.7.1", "2.0.0 then 5.1.1": "5.1.1", "5.0.0 then 5.1.1": "5.1.1", "5.0.0": "5.0.0",
	} {
		if got := StatusIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestHostNamesAndAddressesAreIgnored(t *testing.T) {
	if got := strings.Join(tokens("550 <spam@blocked.test>:User unknown at mx.spam.test[192.0.2.1], (relay.spam.test) said RESOLVER.ADR.NotFound"), " "); got != "user unknown at said resolver adr notfound" {
		t.Errorf("%q", got)
	}
}

// TestClassifyIsBounded: the work grows linearly: twice the words, about twice the comparisons.
func TestClassifyIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"the same word": strings.Repeat("user ", 200_000), "gaps": strings.Repeat("mailbox of user account ", 100_000), "numbers": strings.Repeat("5.1.", 300_000),
		"one run": strings.Repeat("a@", 500_000), "said": strings.Repeat(" said: 5", 100_000),
	} {
		done := make(chan Classification, 1)
		go func() { done <- Classify(Evidence{Reply: text}) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s takes a minute", name)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, row := range replies(f) {
		f.Add(row[1], row[2], 550, false)
	}
	f.Fuzz(func(t *testing.T, status, reply string, code int, temporary bool) {
		j := Classify(Evidence{Status: status, Reply: reply, ReplyCode: code, Temporary: temporary})
		if _, ok := meanings[j.Reason]; !ok || j.Class != j.Reason.Class() {
			t.Fatalf("%+v", j)
		}
		if j.Class == Hard && (temporary || code/100 == 4 || strings.HasPrefix(j.Status, "4") || strings.HasPrefix(j.Status, "5.7.")) {
			t.Errorf("hard in spite of what says otherwise: %+v", j)
		}
	})
}
