package mailauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"mailer/app"
)

//go:embed testdata/verify.py
var verifyScript string

// verifierCase is a message for both verifiers.
type verifierCase struct {
	Remote   string                         `json:"remote"`
	Helo     string                         `json:"helo"`
	MailFrom string                         `json:"mail_from"`
	Author   string                         `json:"author"`
	Raw      string                         `json:"raw"`
	Zone     map[string]map[string][]string `json:"zone"`
}

// lookup is an app.DNSLookup. A name exists if it or one below it has records.
func (c *verifierCase) lookup(_ context.Context, name string, t app.DNSType) (answer app.DNSAnswer, err error) {
	if c.Zone[name]["fail"] != nil {
		return answer, fmt.Errorf("%s: SERVFAIL", name)
	}
	for _, v := range c.Zone[name][string(t)] {
		answer.Records = append(answer.Records, app.DNSValue{Text: v})
	}
	for owner := range c.Zone {
		answer.NameExists = answer.NameExists || owner == name || strings.HasSuffix(owner, "."+name)
	}
	return answer, nil
}

func (c *verifierCase) publish(name, kind string, values ...string) {
	if c.Zone[name] == nil {
		c.Zone[name] = map[string][]string{}
	}
	c.Zone[name][kind] = append(c.Zone[name][kind], values...)
}

const independentMessages = 300

// TestVerdictsEqualThoseOfIndependentVerifiers compares SPF with pyspf, DKIM with dkimpy, and DMARC with an
// evaluation in Python by publicsuffix2. The messages have none of the following, whose verdicts differ
// intentionally:
//
//   - l= in a signature: dkimpy lets it pass, here it fails, since text can be appended.
//   - rsa-sha1: dkimpy lets it pass, here it is a permerror (RFC 8301).
//   - t= in the future: dkimpy lets the signature fail after 10 hours, here t= does not count (RFC 6376 3.5).
//   - x= passed less than 10 hours ago: dkimpy lets it pass.
//   - t=s in a key: dkimpy ignores it.
//   - A space before the colon of a header field: dkimpy refuses the message.
//   - A second From above a signed one: dkimpy lets the signature fail, here DMARC is a permerror.
//   - dkimpy has no word for a permerror; here it counts as its fail.
//   - A host of mx or ptr without an address: pyspf counts a void lookup, here only terms count (RFC 7208 4.6.4).
//   - The same unknown modifier twice in an SPF record: a permerror of pyspf, while RFC 7208 6 ignores both.
//   - The macro p: pyspf looks for the name, here it is "unknown" (RFC 7208 7.3 allows it).
//   - A policy of a public suffix with psd=y (RFC 9989): not in the evaluation in Python.
func TestVerdictsEqualThoseOfIndependentVerifiers(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import dkim, spf, publicsuffix2").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("python3-dkim, python3-spf or python3-publicsuffix2 is missing: %v", err)
		}
		t.Skip("python3-dkim, python3-spf or python3-publicsuffix2 is missing: the independent check of verdicts was not made")
	}
	random := rand.New(rand.NewPCG(4, 2026))
	cases := make([]*verifierCase, independentMessages)
	for i := range cases {
		cases[i] = randomCase(t, random)
	}
	in, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", verifyScript)
	cmd.Stdin = bytes.NewReader(in)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d results of %d messages", len(lines), len(cases))
	}
	seen := map[string]int{}
	for i, c := range cases {
		var want app.ReceivedAuth
		if err := json.Unmarshal([]byte(lines[i]), &want); err != nil {
			t.Fatal(err)
		}
		got := New(c.lookup, nil).Check(t.Context(), Input{Raw: []byte(c.Raw), Remote: netip.MustParseAddr(c.Remote), Helo: c.Helo, MailFrom: c.MailFrom, FromDomains: []string{c.Author}})
		if got.DKIM == app.AuthPermError {
			got.DKIM = app.AuthFail
		}
		slices.Sort(want.DKIMDomains)
		slices.Sort(got.DKIMDomains)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("message %d (-independent +own): %s\n%s from %s HELO %s, author %s, DNS %v\n%s", i, diff, c.Remote, c.MailFrom, c.Helo, c.Author, c.Zone, c.Raw)
		}
		seen["SPF "+string(got.SPF)]++
		seen["DKIM "+string(got.DKIM)]++
		seen["DMARC "+string(got.DMARC)]++
	}
	t.Logf("verdicts: %v", seen)
	for _, verdict := range []string{
		"SPF pass", "SPF fail", "SPF softfail", "SPF neutral", "SPF none", "SPF temperror", "SPF permerror",
		"DKIM pass", "DKIM fail", "DKIM none", "DKIM temperror",
		"DMARC pass", "DMARC fail", "DMARC none", "DMARC temperror", "DMARC permerror",
	} {
		if seen[verdict] < 3 {
			t.Errorf("only %d messages have %s", seen[verdict], verdict)
		}
	}
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// randomCase returns a message with its envelope and the DNS of its senders.
func randomCase(t *testing.T, random *rand.Rand) *verifierCase {
	c := &verifierCase{Zone: map[string]map[string][]string{}, Remote: pick(random, "192.0.2.1", "192.0.2.77", "2001:db8::1"), Helo: "mta.example.com"}
	org := pick(random, "example.com", "example.co.uk", "ann.github.io", "example.org")
	related := []string{org, org, "mail." + org, "a.b." + org}
	c.Author = pick(random, related...)
	others := append(related, "other.co.uk", "other.com", "bob.github.io")
	envelope := pick(random, others...)
	c.MailFrom = pick(random, "ann", "ann", "a.b-c", "Ann+x") + "@" + envelope
	if random.IntN(8) == 0 {
		c.MailFrom, envelope = "", c.Helo
	}
	c.publishSPF(random, envelope)
	c.publishDMARC(random, org)
	c.Raw = randomMessage(random, c.Author)
	for i := range pick(random, 0, 1, 1, 1, 2, 2, 3) {
		c.signRandomly(t, random, pick(random, others...), fmt.Sprintf("s%d", i))
	}
	return c
}

// publishSPF publishes records at a domain and at those that it names.
func (c *verifierCase) publishSPF(random *rand.Rand, domain string) {
	switch random.IntN(12) {
	case 0:
		return
	case 1:
		c.publish(domain, "fail", "")
		return
	case 2:
		c.publish(domain, "TXT", "some text", "v=spf10 +all")
		return
	case 3:
		c.publish(domain, "TXT", "v=spf1 -all", "v=spf1 +all")
		return
	}
	c.publish(domain, "TXT", "some text", randomSPF(random, "spf.test", 5))
	for i, name := range []string{"i0.spf.test", "i1.spf.test", "i2.spf.test"} {
		c.publish(name, "TXT", strings.ReplaceAll(randomSPF(random, "spf.test", 2), "i0.", fmt.Sprintf("i%d.", i+1)))
	}
	for _, name := range []string{domain, "a.spf.test", "b.spf.test"} {
		c.publish(name, "A", pick(random, "192.0.2.1", "203.0.113.1"))
		c.publish(name, "AAAA", pick(random, "2001:db8::1", "2001:db8::2"))
		c.publish(name, "MX", "a.spf.test", "b.spf.test")
	}
	c.publish("down.spf.test", "fail", "")
	c.publish("1.2.0.192.in-addr.arpa", "PTR", "a.spf.test")
	c.publish("ann."+domain, "A", "127.0.0.2")
	c.publish("1.2.0.192.in-addr."+domain, "A", "127.0.0.2")
}

// randomSPF returns a record of at most n terms and an end.
func randomSPF(random *rand.Rand, helper string, n int) string {
	record := pick(random, "v=spf1", "v=spf1", "v=spf1", "V=SPF1")
	for range random.IntN(n + 1) {
		term := pick(random,
			"ip4:192.0.2.1", "ip4:192.0.2.0/24", "ip4:203.0.113.0/24", "ip6:2001:db8::1", "ip6:2001:db8::/32", "ip6:2001:db9::1",
			"a", "A", "mx", "a:a."+helper, "a:b."+helper+"/24", "mx:b."+helper, "a:a."+helper+"/31//64", "a:missing."+helper,
			"include:i0."+helper, "include:i0."+helper, "exists:%{l}.%{d}", "exists:%{ir}.%{v}.%{d}", "exists:%{l1r-}.%{o2}", "ptr:spf.test",
			"a:down."+helper, "include:down."+helper, "include:missing."+helper, "ip4:192.0.2.300", "nonsense", "a:%{x}.test", fmt.Sprintf("x-mod%d=hello", len(record)))
		if !strings.Contains(term, "=") {
			term = pick(random, "", "", "", "+", "-", "~", "?") + term
		}
		record += pick(random, " ", " ", "  ") + term
	}
	if random.IntN(12) == 0 {
		record += strings.Repeat(" a:b."+helper, 11)
	}
	return record + pick(random, "", " -all", " -all", " ~all", " ?all", " +all", " redirect=i1."+helper, " redirect=missing."+helper)
}

func (c *verifierCase) publishDMARC(random *rand.Rand, org string) {
	policy := func() string {
		return "v=DMARC1; p=" + pick(random, "none", "quarantine", "reject") + pick(random, "", "; adkim=s", "; adkim=r") + pick(random, "", "; aspf=s", "; aspf=r") + pick(random, "", "; sp=reject", "; rua=mailto:a@example.com", "; pct=50;")
	}
	name := "_dmarc." + pick(random, org, c.Author)
	switch random.IntN(14) {
	case 0:
	case 1:
		c.publish(name, "TXT", policy(), policy())
	case 2:
		c.publish(name, "fail", "")
	case 3:
		c.publish(name, "TXT", "v=DMARC1; p=monitor")
	case 4:
		c.publish(name, "TXT", "v=DMARC2; p=reject", "v=spf1 -all")
	default:
		c.publish(name, "TXT", policy())
	}
	if random.IntN(4) == 0 && c.Author != org && c.Zone["_dmarc."+org] == nil {
		c.publish("_dmarc."+org, "TXT", policy())
	}
}

func randomMessage(random *rand.Rand, author string) string {
	m := "From: Ann <ann@" + author + ">\r\nTo: bob@example.net,\r\n\tcarl@example.net\r\nSubject: " + pick(random, "Hello", "Hello\r\n  again", "  many   spaces  ", "=?utf-8?q?H=C3=A9llo?=") + "\r\n"
	for range random.IntN(4) {
		m += pick(random, "Received: by mx\r\n", "X-Empty:\r\n", "Reply-To: carl@example.net\r\n", "Date: Fri, 27 Nov 2026 10:00:00 +0000\r\n")
	}
	m += "\r\n"
	for range random.IntN(6) {
		m += pick(random, "Hello Bob\r\n", "\r\n", "trailing spaces  \t\r\n", " leading\ttab\r\n", "Grüße\r\n", "  \r\n", ".\r\n")
	}
	return m + pick(random, "", "", "no line end", "\r\n\r\n\r\n")
}

// signRandomly signs the message and publishes the key, with a fault in half of all cases.
func (c *verifierCase) signRandomly(t *testing.T, random *rand.Rand, domain, selector string) {
	key := testKeys()[pick(random, "rsa", "rsa2048", "ed25519")]
	fault := random.IntN(20)
	c.Raw = sign(t, c.Raw, domain, selector, key.signer, func(o *dkim.SignOptions) {
		o.HeaderCanonicalization = pick[dkim.Canonicalization](random, "simple", "relaxed")
		o.BodyCanonicalization = pick[dkim.Canonicalization](random, "simple", "relaxed")
		o.HeaderKeys = pick(random, nil, []string{"From"}, []string{"From", "To", "Subject"}, []string{"from", "Subject", "Subject", "Reply-To", "X-Missing"}, []string{"From", "DKIM-Signature"}[:1+random.IntN(2)])
		if fault == 0 {
			o.Expiration = time.Unix(1e9, 0)
		}
		if random.IntN(5) == 0 {
			o.Identifier = "list@sub." + domain
		}
	})
	record, name := key.record, selector+"._domainkey."+domain
	old, changed := "", ""
	switch fault {
	case 1:
		return // the key is missing
	case 2:
		c.publish(name, "fail", "")
		return
	case 3:
		record = "v=DKIM1; p="
	case 4:
		record = testKeys()["rsa"].record[:60]
	case 5:
		c.publish(name, "TXT", record) // twice
	case 6:
		record += "; t=y; n=hello"
	case 7:
		record = strings.Replace(record, "v=DKIM1; ", "h=sha256; s=email; ", 1)
	case 8:
		sum := sha256.Sum256([]byte(name))
		record = "v=DKIM1; p=" + hex.EncodeToString(sum[:])
	case 9:
		old, changed = "Subject: ", "SUBJECT:   "
	case 10:
		old, changed = "Hello Bob", "Hello  Bob"
	case 11:
		old, changed = "Hello", "Help"
	case 12:
		old, changed = "ann@", "eve@"
	case 13:
		old, changed = "\r\n\r\n", "\r\nX-Added: 1\r\n\r\n"
	}
	c.Raw = strings.Replace(c.Raw, old, changed, 1)
	if old == "" {
		c.Raw = pick(random, "", "Received: by mx2\r\n") + c.Raw
	}
	if c.Zone[name] == nil || fault == 5 {
		c.publish(name, "TXT", record)
	}
}
