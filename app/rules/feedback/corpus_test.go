package feedback

import (
	"os"
	"strings"
	"testing"
	"time"

	"mailer/app/rules/bounce"
)

// corpusCase is a case in testdata/messages.txt.
type corpusCase struct {
	name, raw string
	want      []string
	person    bool
}

const reportHeader = `Content-Type: multipart/report; report-type=delivery-status; boundary="=b"

--=b
Content-Type: text/plain

Your message did not arrive.

--=b
Content-Type: message/delivery-status

`

func corpus(t testing.TB) (cases []corpusCase) {
	b, err := os.ReadFile("testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split("\n"+string(b), "\n=== ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		c := corpusCase{name: name}
		for {
			line, after, _ := strings.Cut(rest, "\n")
			if want, ok := strings.CutPrefix(line, "> "); ok {
				c.want = append(c.want, strings.TrimSpace(want))
			} else if line == "< person" {
				c.person = true
			} else {
				break
			}
			rest = after
		}
		if head, status, ok := strings.Cut(rest, "%report\n"); ok {
			rest = head + reportHeader + strings.TrimRight(status, "\n") + "\n\n--=b--\n"
		}
		c.raw = strings.ReplaceAll(rest, "%iso2022jp", "\x1b$B%f!<%6!<$,B8:_$7$^$;$s\x1b(B")
		cases = append(cases, c)
	}
	return cases
}

// summary formats a claim on one line.
func summary(c Claim) string {
	return strings.Join(strings.Fields(string(c.Kind)+" "+string(c.Class)+" "+string(c.Reason)+" "+c.Enhanced+" "+strings.Join(c.Addresses, " ")), " ")
}

// TestReadBounceCorpus uses both kinds of line ends.
func TestReadBounceCorpus(t *testing.T) {
	cases := corpus(t)
	if len(cases) < 120 {
		t.Errorf("%d messages", len(cases))
	}
	for _, c := range cases {
		for ends, raw := range map[string]string{"LF": c.raw, "CRLF": strings.ReplaceAll(c.raw, "\n", "\r\n")} {
			var got []string
			for _, claim := range ReadBounce([]byte(raw), !c.person) {
				got = append(got, summary(claim))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s (%s):\n%s\nwant\n%s", c.name, ends, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
	}
}

// providerReport returns a provider's report with some members changed.
func providerReport(provider string, members []string) string {
	m := make([]string, 4)
	for i := range min(len(members), len(m)) {
		m[i] = strings.TrimSpace(members[i])
	}
	switch provider {
	case "ses":
		bounce, subType, _ := strings.Cut(m[0], " ")
		return `{"eventType":"Bounce","bounce":{"bounceType":"` + bounce + `","bounceSubType":"` + subType + `","bouncedRecipients":[{"emailAddress":"bob@far.test","status":"` + m[1] + `","diagnosticCode":"` + m[2] + `"}]},"mail":{}}`
	case "mailgun":
		return `{"event-data":{"event":"failed","severity":"permanent","recipient":"bob@far.test","delivery-status":{"code":` + m[0] + `,"enhanced-code":"` + m[1] + `","message":"` + m[2] + `"}}}`
	case "sendgrid":
		return `[{"event":"bounce","email":"bob@far.test","type":"` + m[0] + `","status":"` + m[1] + `","bounce_classification":"` + m[2] + `","reason":"` + m[3] + `"}]`
	}
	return `{"RecordType":"Bounce","Email":"bob@far.test","Type":"` + m[0] + `","Details":"` + m[1] + `"}`
}

func TestProviderBounceClassification(t *testing.T) {
	b, err := os.ReadFile("testdata/providers.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.SplitN(strings.TrimSpace(line), " | ", 3)
		if len(cells) != 3 || line[0] == '#' {
			continue
		}
		n++
		body := providerReport(cells[0], strings.SplitN(cells[2], "/", 4))
		reports, err := readReports(cells[0], []byte(body))
		if cells[0] == "ses" {
			reports, err = ReadSES("id", []byte(body))
		}
		if err != nil || len(reports) != 1 {
			t.Fatalf("%s: %+v, %v", line, reports, err)
		}
		r := reports[0].Bound(time.Time{}, time.Now())
		if got := string(r.Class) + " " + string(r.Reason); got != cells[1] || Suppresses(r) != (r.Class == bounce.Hard) {
			t.Errorf("%s%s", line, got)
		}
	}
	if n < 50 {
		t.Errorf("%d reports", n)
	}
}
