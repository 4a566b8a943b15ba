package mailauth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/google/go-cmp/cmp"

	"mailer/app"
)

// zone is a DNS zone: lines "NAME TYPE VALUE". The value of an MX is its host. TYPE fail makes all lookups of
// the name fail.
type zone []string

// counter counts the lookups of a zone.
type counter struct {
	mu    sync.Mutex
	zone  zone
	asked []string
}

func (c *counter) lookup(_ context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	c.mu.Lock()
	c.asked = append(c.asked, name+" "+string(t))
	c.mu.Unlock()
	var answer app.DNSAnswer
	for _, line := range c.zone {
		owner, rest, _ := strings.Cut(line, " ")
		kind, value, _ := strings.Cut(rest, " ")
		if owner == name || strings.HasSuffix(owner, "."+name) {
			answer.NameExists = true
		}
		if owner != name {
			continue
		}
		switch kind {
		case "fail":
			return app.DNSAnswer{}, errors.New("answered SERVFAIL")
		case string(t):
			answer.Records = append(answer.Records, app.DNSValue{Text: value})
		}
	}
	return answer, nil
}

// keyPair is a key of DKIM with its DNS record.
type keyPair struct {
	signer crypto.Signer
	record string
}

var testKeys = sync.OnceValue(func() map[string]keyPair {
	pairs := map[string]keyPair{}
	for name, bits := range map[string]int{"rsa": 1024, "rsa2048": 2048} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			panic(err)
		}
		pairs[name] = rsaPair(key)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	pairs["ed25519"] = keyPair{private, "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)}
	return pairs
})

func rsaPair(key *rsa.PrivateKey) keyPair {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		panic(err)
	}
	return keyPair{key, "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der)}
}

// shortKey returns an RSA key of 768 bits, which Go does not make by default.
func shortKey(t testing.TB) keyPair {
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, 768)
	if err != nil {
		t.Fatal(err)
	}
	return rsaPair(key)
}

// sign adds a signature with the domain and the selector at the top of a message.
func sign(t testing.TB, message, domain, selector string, key crypto.Signer, change ...func(*dkim.SignOptions)) string {
	t.Helper()
	options := &dkim.SignOptions{Domain: domain, Selector: selector, Signer: key, HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed}
	for _, c := range change {
		c(options)
	}
	var out bytes.Buffer
	if err := dkim.Sign(&out, strings.NewReader(message), options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const plainMessage = "From: Ann <ann@example.com>\r\nTo: bob@example.net\r\nSubject: Hello\r\n\r\nHello Bob\r\n"

var testRemote = netip.MustParseAddr("192.0.2.1")

// check checks a message from ann@example.com at 192.0.2.1 and returns the lookups made.
func check(t testing.TB, z zone, in Input) (app.ReceivedAuth, []string) {
	t.Helper()
	c := &counter{zone: z}
	var log bytes.Buffer
	auth := New(c.lookup, slog.New(slog.NewTextHandler(&log, nil))).Check(t.Context(), in)
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
	return auth, c.asked
}

func TestSPF(t *testing.T) {
	many := func(n int) (z zone) {
		record := "example.com TXT v=spf1"
		for i := range n {
			record += fmt.Sprintf(" include:i%d.example.com", i)
			z = append(z, fmt.Sprintf("i%d.example.com TXT v=spf1 ip4:203.0.113.1 ?all", i))
		}
		return append(z, record+" ip4:192.0.2.1 -all")
	}
	manyHosts := zone{"example.com TXT v=spf1 mx -all"}
	for i := range 11 {
		manyHosts = append(manyHosts, fmt.Sprintf("example.com MX mx%d.example.com", i), fmt.Sprintf("mx%d.example.com A 192.0.2.1", i))
	}
	spf := func(record string) zone { return zone{"example.com TXT " + record} }
	for name, tt := range map[string]struct {
		zone   zone
		from   string // default: ann@example.com
		helo   string
		remote string // default: 192.0.2.1
		want   app.AuthResult
	}{
		"pass":                           {zone: spf("v=spf1 ip4:192.0.2.0/24 -all"), want: app.AuthPass},
		"pass with text of others":       {zone: append(spf("v=spf1 ip4:192.0.2.0/24 -all"), "example.com TXT google-site-verification=x"), want: app.AuthPass},
		"pass of IPv4 in IPv6":           {zone: spf("v=spf1 ip4:192.0.2.0/24 -all"), remote: "::ffff:192.0.2.1", want: app.AuthPass},
		"fail":                           {zone: spf("v=spf1 ip4:203.0.113.1 -all"), want: app.AuthFail},
		"softfail":                       {zone: spf("v=spf1 ~all"), want: app.AuthSoftFail},
		"neutral":                        {zone: spf("v=spf1 ?all"), want: app.AuthNeutral},
		"neutral by default":             {zone: spf("v=spf1 ip4:203.0.113.1"), want: app.AuthNeutral},
		"none":                           {zone: zone{"example.com TXT hello"}, want: app.AuthNone},
		"none without the name":          {want: app.AuthNone},
		"none of a version":              {zone: spf("v=spf10 -all"), want: app.AuthNone},
		"none of an address":             {from: "ann@[192.0.2.1]", want: app.AuthNone},
		"none of a word":                 {from: "ann", want: app.AuthNone},
		"two records":                    {zone: append(spf("v=spf1 -all"), spf("v=spf1 +all")...), want: app.AuthPermError},
		"unknown term":                   {zone: spf("v=spf1 ipv4:192.0.2.1 -all"), want: app.AuthPermError},
		"wrong term after the match":     {zone: spf("v=spf1 ip4:192.0.2.1 a:%{x}.test -all"), want: app.AuthPermError},
		"wrong redirect after all":       {zone: spf("v=spf1 +all redirect=%"), want: app.AuthPermError},
		"modifier that is not known":     {zone: spf("v=spf1 hello=% ip4:192.0.2.1 v=spf1"), want: app.AuthPass},
		"exp twice":                      {zone: spf("v=spf1 exp=a.test +all exp=b.test"), want: app.AuthPermError},
		"include without a record":       {zone: spf("v=spf1 include:nobody.example.com -all"), want: app.AuthPermError},
		"10 lookups":                     {zone: many(10), want: app.AuthPass},
		"11 lookups":                     {zone: many(11), want: app.AuthPermError},
		"3 void lookups":                 {zone: spf("v=spf1 a:x.example.com a:y.example.com a:z.example.com +all"), want: app.AuthPermError},
		"2 void lookups":                 {zone: spf("v=spf1 a:x.example.com a:y.example.com +all"), want: app.AuthPass},
		"11 hosts of an mx":              {zone: manyHosts, want: app.AuthPermError},
		"temperror":                      {zone: zone{"example.com fail"}, want: app.AuthTempError},
		"temperror of an include":        {zone: append(spf("v=spf1 include:a.example.com +all"), "a.example.com fail"), want: app.AuthTempError},
		"temperror of a host":            {zone: append(spf("v=spf1 mx +all"), "example.com MX a.example.com", "a.example.com fail"), want: app.AuthTempError},
		"mx":                             {zone: append(spf("v=spf1 mx -all"), "example.com MX a.example.com", "a.example.com A 192.0.2.1"), want: app.AuthPass},
		"null MX":                        {zone: append(spf("v=spf1 mx -all"), "example.com MX "), want: app.AuthFail},
		"a of IPv6":                      {zone: append(spf("v=spf1 a -all"), "example.com A 192.0.2.1", "example.com AAAA 2001:db8::1"), remote: "2001:db8::1", want: app.AuthPass},
		"a of the other family":          {zone: append(spf("v=spf1 a -all"), "example.com A 192.0.2.1"), remote: "2001:db8::1", want: app.AuthFail},
		"exists by IPv4":                 {zone: append(spf("v=spf1 exists:%{l}.example.com -all"), "ann.example.com A 127.0.0.2"), remote: "2001:db8::1", want: app.AuthPass},
		"macro of the address":           {zone: append(spf("v=spf1 exists:%{ir}.%{v}.example.com -all"), "1.2.0.192.in-addr.example.com A 127.0.0.2"), want: app.AuthPass},
		"redirect":                       {zone: append(spf("v=spf1 redirect=a.example.com"), "a.example.com TXT v=spf1 +all"), want: app.AuthPass},
		"ptr":                            {zone: append(spf("v=spf1 ptr -all"), "1.2.0.192.in-addr.arpa PTR a.example.com", "a.example.com A 192.0.2.1"), want: app.AuthPass},
		"ptr that does not lead back":    {zone: append(spf("v=spf1 ptr -all"), "1.2.0.192.in-addr.arpa PTR a.example.com", "a.example.com A 192.0.2.2"), want: app.AuthFail},
		"null sender: HELO":              {zone: zone{"mta.example.com TXT v=spf1 +all"}, from: "<>", helo: "mta.example.com", want: app.AuthPass},
		"null sender: HELO is local":     {from: "<>", helo: "localhost", want: app.AuthNone},
		"null sender: HELO is an IP":     {from: "<>", helo: "[192.0.2.1]", want: app.AuthNone},
		"HELO does not count":            {zone: append(spf("v=spf1 -all"), "mta.example.com TXT v=spf1 +all"), helo: "mta.example.com", want: app.AuthFail},
		"two @: the last counts":         {zone: append(spf("v=spf1 -all"), "evil.test TXT v=spf1 +all"), from: `"x@evil.test"@example.com`, want: app.AuthFail},
		"international domain":           {zone: zone{"xn--bcher-kva.example TXT v=spf1 +all"}, from: "ann@Bücher.example", want: app.AuthPass},
		"name with an underscore":        {zone: zone{"a_b.example.com TXT v=spf1 +all"}, from: "ann@a_b.example.com", want: app.AuthPass},
		"expanded name that is too long": {zone: append(spf("v=spf1 exists:%{l}.%{l}.%{l}.%{l}.%{l}.%{l}.example.com -all"), strings.Repeat("a23456789.", 24)+"example.com A 127.0.0.2"), from: strings.Repeat("a23456789.", 6) + "a23@example.com", want: app.AuthFail},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Raw: []byte(plainMessage), Remote: testRemote, Helo: tt.helo, MailFrom: tt.from, FromDomains: []string{"example.com"}}
			switch tt.from {
			case "":
				in.MailFrom = "ann@example.com"
			case "<>":
				in.MailFrom = ""
			}
			if tt.remote != "" {
				in.Remote = netip.MustParseAddr(tt.remote)
			}
			if got, asked := check(t, tt.zone, in); got.SPF != tt.want {
				t.Errorf("got %s, want %s; asked for %q", got.SPF, tt.want, asked)
			}
		})
	}
	if got, _ := check(t, spf("v=spf1 +all"), Input{MailFrom: "ann@example.com"}); got.SPF != app.AuthNone {
		t.Errorf("without an address of the peer: %s", got.SPF)
	}
}

func TestDKIM(t *testing.T) {
	keys := testKeys()
	short := shortKey(t)
	published := func(records ...string) (z zone) {
		for _, r := range records {
			z = append(z, "s._domainkey.example.com TXT "+r)
		}
		return z
	}
	signed := func(change ...func(*dkim.SignOptions)) string {
		return sign(t, plainMessage, "example.com", "s", keys["rsa"].signer, change...)
	}
	bySimple := func(o *dkim.SignOptions) { o.HeaderCanonicalization, o.BodyCanonicalization = "simple", "simple" }
	expires := func(at time.Time) func(*dkim.SignOptions) { return func(o *dkim.SignOptions) { o.Expiration = at } }
	replaced := func(message, old, new string) string {
		if !strings.Contains(message, old) {
			t.Fatalf("%q is not in\n%s", old, message)
		}
		return strings.Replace(message, old, new, 1)
	}
	rsaZone := published(keys["rsa"].record)
	other := "o._domainkey.example.net TXT " + keys["ed25519"].record
	for name, tt := range map[string]struct {
		raw     string
		zone    zone
		want    app.AuthResult
		domains []string
	}{
		"none":                            {raw: plainMessage, zone: rsaZone, want: app.AuthNone},
		"no message":                      {raw: "", want: app.AuthNone},
		"RSA":                             {raw: signed(), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"RSA of 2048 bits":                {raw: sign(t, plainMessage, "example.com", "s", keys["rsa2048"].signer), zone: published(keys["rsa2048"].record), want: app.AuthPass, domains: []string{"example.com"}},
		"Ed25519":                         {raw: sign(t, plainMessage, "example.com", "s", keys["ed25519"].signer), zone: published(keys["ed25519"].record), want: app.AuthPass, domains: []string{"example.com"}},
		"simple":                          {raw: signed(bySimple), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"line ends of a file":             {raw: strings.ReplaceAll(signed(), "\r\n", "\n"), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"header without a body":           {raw: strings.TrimSuffix(sign(t, "From: ann@example.com\r\n\r\n", "example.com", "s", keys["rsa"].signer), "\r\n"), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"changed body":                    {raw: replaced(signed(), "Hello Bob", "Hello Eve"), zone: rsaZone, want: app.AuthFail},
		"changed subject":                 {raw: replaced(signed(), "Subject: Hello", "Subject: Help"), zone: rsaZone, want: app.AuthFail},
		"spaces in relaxed":               {raw: replaced(signed(), "Subject: Hello", "SUBJECT:  Hello "), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"spaces in simple":                {raw: replaced(signed(bySimple), "Subject: Hello", "Subject:  Hello"), zone: rsaZone, want: app.AuthFail},
		"field that is not signed":        {raw: "Received: by mx\r\n" + signed(func(o *dkim.SignOptions) { o.HeaderKeys = []string{"From"} }), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"added field of a signed name":    {raw: "Subject: Win\r\n" + signed(func(o *dkim.SignOptions) { o.HeaderKeys = []string{"From", "Subject", "Subject"} }), zone: rsaZone, want: app.AuthFail},
		"two signatures":                  {raw: sign(t, signed(), "example.net", "o", keys["ed25519"].signer), zone: append(rsaZone, other), want: app.AuthPass, domains: []string{"example.com", "example.net"}},
		"signed signature":                {raw: sign(t, signed(), "example.net", "o", keys["ed25519"].signer, func(o *dkim.SignOptions) { o.HeaderKeys = []string{"From", "DKIM-Signature"} }), zone: append(rsaZone, other), want: app.AuthPass, domains: []string{"example.com", "example.net"}},
		"one of two fails":                {raw: sign(t, replaced(signed(), "Subject: Hello", "Subject: [list] Hello"), "example.net", "o", keys["ed25519"].signer), zone: append(rsaZone, other), want: app.AuthPass, domains: []string{"example.net"}},
		"the same domain twice":           {raw: sign(t, signed(), "example.com", "s", keys["rsa"].signer), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"expired":                         {raw: signed(expires(time.Unix(1e9, 0))), zone: rsaZone, want: app.AuthFail},
		"not yet expired":                 {raw: signed(expires(time.Unix(1<<40, 0))), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"missing key":                     {raw: signed(), want: app.AuthPermError},
		"no key at the name":              {raw: signed(), zone: zone{"x.s._domainkey.example.com TXT v=DKIM1"}, want: app.AuthPermError},
		"revoked key":                     {raw: signed(), zone: published("v=DKIM1; p="), want: app.AuthPermError},
		"unreadable key":                  {raw: signed(), zone: published("v=DKIM1; p=AAAA"), want: app.AuthPermError},
		"two keys":                        {raw: signed(), zone: published(keys["rsa"].record, keys["rsa"].record), want: app.AuthPermError},
		"another key":                     {raw: signed(), zone: published(keys["rsa2048"].record), want: app.AuthFail},
		"key of another kind":             {raw: signed(), zone: published(keys["ed25519"].record), want: app.AuthPermError},
		"key for another service":         {raw: signed(), zone: published(keys["rsa"].record + "; s=tlsrpt"), want: app.AuthPermError},
		"short key":                       {raw: sign(t, plainMessage, "example.com", "s", short.signer), zone: published(short.record), want: app.AuthFail},
		"key can't be looked up":          {raw: signed(), zone: zone{"s._domainkey.example.com fail"}, want: app.AuthTempError},
		"temperror and fail":              {raw: sign(t, replaced(signed(), "Subject: Hello", "Subject: Hi"), "example.net", "o", keys["rsa"].signer), zone: append(rsaZone, "o._domainkey.example.net fail"), want: app.AuthTempError},
		"From not signed":                 {raw: replaced(signed(func(o *dkim.SignOptions) { o.HeaderKeys = []string{"From", "Subject"} }), "h=From:Subject", "h=To:Subject"), zone: rsaZone, want: app.AuthPermError},
		"identity of a subdomain":         {raw: signed(func(o *dkim.SignOptions) { o.Identifier = "@mail.example.com" }), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
		"key that refuses subdomains":     {raw: signed(func(o *dkim.SignOptions) { o.Identifier = "@mail.example.com" }), zone: published(keys["rsa"].record + "; t=y:s"), want: app.AuthPermError},
		"its own domain with such a key":  {raw: signed(func(o *dkim.SignOptions) { o.Identifier = "ann@example.com" }), zone: published(keys["rsa"].record + "; t=s"), want: app.AuthPass, domains: []string{"example.com"}},
		"unreadable signature":            {raw: "DKIM-Signature: hello\r\n" + plainMessage, zone: rsaZone, want: app.AuthPermError},
		"length of the body":              {raw: replaced(signed(), "DKIM-Signature:", "DKIM-Signature: l=11;"), zone: rsaZone, want: app.AuthFail},
		"signature by an upper-case name": {raw: sign(t, plainMessage, "Example.COM", "s", keys["rsa"].signer), zone: rsaZone, want: app.AuthPass, domains: []string{"example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := check(t, tt.zone, Input{Raw: []byte(tt.raw), FromDomains: []string{"example.com"}})
			if got.DKIM != tt.want || !slices.Equal(got.DKIMDomains, tt.domains) {
				t.Errorf("got %s %q, want %s %q\n%s", got.DKIM, got.DKIMDomains, tt.want, tt.domains, tt.raw)
			}
		})
	}
}

func TestDMARC(t *testing.T) {
	keys := testKeys()
	signedBy := func(domain string) string {
		return sign(t, plainMessage, domain, "s", keys["rsa"].signer)
	}
	policy := func(name, record string) string { return "_dmarc." + name + " TXT v=DMARC1; " + record }
	everywhere := zone{}
	for _, d := range []string{"example.com", "mail.example.com", "evil.test", "example.co.uk", "other.co.uk", "co.uk"} {
		everywhere = append(everywhere, d+" TXT v=spf1 +all", "s._domainkey."+d+" TXT "+keys["rsa"].record)
	}
	for name, tt := range map[string]struct {
		raw  string   // default: not signed
		mail string   // domain of MAIL FROM; default: evil.test
		from []string // default: example.com
		zone zone
		want app.AuthResult
		good bool // FromAligned
	}{
		"by SPF":                                 {mail: "example.com", zone: zone{policy("example.com", "p=reject")}, want: app.AuthPass, good: true},
		"by DKIM":                                {raw: signedBy("example.com"), zone: zone{policy("example.com", "p=reject")}, want: app.AuthPass, good: true},
		"of others":                              {raw: signedBy("evil.test"), zone: zone{policy("example.com", "p=none")}, want: app.AuthFail},
		"no record, aligned":                     {mail: "example.com", want: app.AuthNone, good: true},
		"no record, not aligned":                 {want: app.AuthNone},
		"SPF relaxed":                            {mail: "mail.example.com", zone: zone{policy("example.com", "p=reject")}, want: app.AuthPass, good: true},
		"SPF strict":                             {mail: "mail.example.com", zone: zone{policy("example.com", "p=reject; aspf=s")}, want: app.AuthFail},
		"SPF strict and equal":                   {mail: "EXAMPLE.com", zone: zone{policy("example.com", "p=reject; aspf=s")}, want: app.AuthPass, good: true},
		"DKIM relaxed":                           {raw: signedBy("mail.example.com"), zone: zone{policy("example.com", "p=reject; aspf=s")}, want: app.AuthPass, good: true},
		"DKIM strict":                            {raw: signedBy("mail.example.com"), zone: zone{policy("example.com", "p=reject; adkim=s")}, want: app.AuthFail},
		"DKIM strict and equal":                  {raw: signedBy("example.com"), zone: zone{policy("example.com", "p=reject; adkim=s")}, want: app.AuthPass, good: true},
		"subdomain, record above":                {raw: signedBy("example.com"), from: []string{"a.b.example.com"}, zone: zone{policy("example.com", "p=reject; sp=none")}, want: app.AuthPass, good: true},
		"subdomain fails by record above":        {from: []string{"a.b.example.com"}, zone: zone{policy("example.com", "p=reject; sp=none")}, want: app.AuthFail},
		"subdomain, mode of the record above":    {raw: signedBy("example.com"), from: []string{"a.example.com"}, zone: zone{policy("example.com", "p=reject; adkim=s")}, want: app.AuthFail},
		"subdomain with its own record":          {raw: signedBy("example.com"), from: []string{"a.example.com"}, zone: zone{policy("a.example.com", "p=none"), policy("example.com", "p=reject; adkim=s")}, want: app.AuthPass, good: true},
		"neighbours below a public suffix":       {raw: signedBy("other.co.uk"), mail: "other.co.uk", from: []string{"example.co.uk"}, zone: zone{policy("example.co.uk", "p=reject")}, want: app.AuthFail},
		"signed by a public suffix":              {raw: signedBy("co.uk"), mail: "co.uk", from: []string{"example.co.uk"}, zone: zone{policy("example.co.uk", "p=reject")}, want: app.AuthFail},
		"record of a public suffix":              {mail: "example.co.uk", from: []string{"example.co.uk"}, zone: zone{policy("co.uk", "p=reject; psd=y")}, want: app.AuthPass, good: true},
		"record of a suffix without psd":         {mail: "example.co.uk", from: []string{"example.co.uk"}, zone: zone{policy("co.uk", "p=reject")}, want: app.AuthNone, good: true},
		"From is a public suffix":                {mail: "co.uk", from: []string{"co.uk"}, zone: zone{policy("co.uk", "p=reject")}, want: app.AuthPass, good: true},
		"two records":                            {mail: "example.com", zone: zone{policy("example.com", "p=reject"), policy("example.com", "p=none")}, want: app.AuthNone, good: true},
		"record and other text":                  {mail: "example.com", zone: zone{policy("example.com", "p=reject"), "_dmarc.example.com TXT v=spf1 -all"}, want: app.AuthPass, good: true},
		"version of another":                     {mail: "example.com", zone: zone{"_dmarc.example.com TXT v=DMARC2; p=reject"}, want: app.AuthNone, good: true},
		"version is not first":                   {mail: "example.com", zone: zone{"_dmarc.example.com TXT p=reject; v=DMARC1"}, want: app.AuthNone, good: true},
		"tags that are wrong":                    {mail: "example.com", zone: zone{policy("example.com", "p=Reject; pct=many; fo=x; ri=-1; aspf=maybe; hello; x=y")}, want: app.AuthPass, good: true},
		"no p":                                   {zone: zone{policy("example.com", "rua=mailto:a@example.com")}, want: app.AuthFail},
		"wrong p without reports":                {mail: "example.com", zone: zone{policy("example.com", "p=monitor")}, want: app.AuthPermError, good: true},
		"wrong p with reports":                   {mail: "mail.example.com", zone: zone{policy("example.com", "p=monitor; rua=mailto:a@example.com; aspf=s")}, want: app.AuthFail},
		"temperror of the record":                {mail: "example.com", zone: zone{"_dmarc.example.com fail"}, want: app.AuthTempError, good: true},
		"temperror of the record, relaxed":       {mail: "mail.example.com", zone: zone{"_dmarc.example.com fail"}, want: app.AuthTempError},
		"temperror of the record above":          {from: []string{"a.example.com"}, zone: zone{"_dmarc.example.com fail"}, want: app.AuthTempError},
		"temperror of aligned SPF":               {mail: "down.example.com", zone: zone{policy("example.com", "p=reject"), "down.example.com fail"}, want: app.AuthTempError},
		"temperror of strict SPF":                {mail: "down.example.com", zone: zone{policy("example.com", "p=reject; aspf=s"), "down.example.com fail"}, want: app.AuthFail},
		"temperror of SPF of others":             {mail: "down.test", zone: zone{policy("example.com", "p=reject"), "down.test fail"}, want: app.AuthFail},
		"temperror of aligned DKIM":              {raw: signedBy("down.example.com"), zone: zone{policy("example.com", "p=reject"), "s._domainkey.down.example.com fail"}, want: app.AuthTempError},
		"temperror of DKIM, but SPF passes":      {raw: signedBy("down.example.com"), mail: "example.com", zone: zone{policy("example.com", "p=reject"), "s._domainkey.down.example.com fail"}, want: app.AuthPass, good: true},
		"several mailboxes of one domain":        {mail: "example.com", from: []string{"example.com", "Example.com"}, zone: zone{policy("example.com", "p=reject")}, want: app.AuthPass, good: true},
		"several domains":                        {mail: "example.com", from: []string{"example.com", "example.net"}, zone: zone{policy("example.com", "p=reject")}, want: app.AuthNone},
		"one of several can't be read":           {mail: "example.com", from: []string{"example.com", ""}, zone: zone{policy("example.com", "p=reject")}, want: app.AuthNone},
		"no mailbox":                             {mail: "example.com", from: []string{}, zone: zone{policy("example.com", "p=reject")}, want: app.AuthNone},
		"no From":                                {raw: "Subject: x\r\n\r\n", mail: "example.com", zone: zone{policy("example.com", "p=reject")}, want: app.AuthNone},
		"two From fields":                        {raw: "From: eve@evil.test\r\n" + signedBy("example.com"), zone: zone{policy("example.com", "p=reject")}, want: app.AuthPermError},
		"international domain in both spellings": {raw: plainMessage, mail: "xn--bcher-kva.example", from: []string{"BÜCHER.example"}, zone: zone{policy("xn--bcher-kva.example", "p=reject"), "xn--bcher-kva.example TXT v=spf1 +all"}, want: app.AuthPass, good: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Raw: []byte(plainMessage), Remote: testRemote, MailFrom: "x@evil.test", FromDomains: []string{"example.com"}}
			if tt.raw != "" {
				in.Raw = []byte(tt.raw)
			}
			if tt.mail != "" {
				in.MailFrom = "x@" + tt.mail
			}
			if tt.from != nil {
				in.FromDomains = tt.from
			}
			got, asked := check(t, append(tt.zone, everywhere...), in)
			if got.DMARC != tt.want || got.FromAligned != tt.good {
				t.Errorf("got %+v, want %s and %v; asked for %q", got, tt.want, tt.good, asked)
			}
		})
	}
}

// TestNullSenderAlignsByHelo: the identity of SPF is then HELO.
func TestNullSenderAlignsByHelo(t *testing.T) {
	z := zone{"mta.example.com TXT v=spf1 +all", "_dmarc.example.com TXT v=DMARC1; p=reject"}
	got, _ := check(t, z, Input{Raw: []byte(plainMessage), Remote: testRemote, Helo: "mta.example.com", FromDomains: []string{"example.com"}})
	want := app.ReceivedAuth{SPF: app.AuthPass, DKIM: app.AuthNone, DMARC: app.AuthPass, FromAligned: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSilentServers checks a message while no server answers: what a check could not ask is a temperror
// after 10 seconds, and the other checks keep their results.
func TestSilentServers(t *testing.T) {
	raw := sign(t, sign(t, plainMessage, "example.com", "s", testKeys()["rsa"].signer), "example.net", "s", testKeys()["rsa"].signer)
	in := Input{Raw: []byte(raw), Remote: testRemote, MailFrom: "ann@example.com", FromDomains: []string{"example.com"}}
	for name, tt := range map[string]struct {
		answers string // beginning of the names that are answered
		want    app.ReceivedAuth
	}{
		"none answers": {answers: "-", want: app.ReceivedAuth{SPF: app.AuthTempError, DKIM: app.AuthTempError, DMARC: app.AuthTempError}},
		"SPF answers":  {answers: "example.com", want: app.ReceivedAuth{SPF: app.AuthPass, DKIM: app.AuthTempError, DMARC: app.AuthTempError, FromAligned: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z := &counter{zone: zone{"example.com TXT v=spf1 ptr ip4:192.0.2.1"}}
				ask := func(ctx context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
					if strings.HasPrefix(name, tt.answers) || strings.HasSuffix(name, "arpa") {
						return z.lookup(ctx, name, kind)
					}
					<-ctx.Done()
					return app.DNSAnswer{}, ctx.Err()
				}
				began := time.Now()
				got := New(ask, slog.New(slog.DiscardHandler)).Check(t.Context(), in)
				if diff := cmp.Diff(tt.want, got); diff != "" || time.Since(began) != maxTime {
					t.Errorf("after %s: %s", time.Since(began), diff)
				}
			})
		})
	}
}

// TestPtrWithoutAnswerIsNoFail: RFC 7208 ignores errors of ptr, but the end of the time is a temperror.
func TestPtrWithoutAnswerIsNoFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &counter{zone: zone{"example.com TXT v=spf1 ptr -all"}}
		ask := func(ctx context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
			if kind == reverse {
				<-ctx.Done()
				return app.DNSAnswer{}, ctx.Err()
			}
			return z.lookup(ctx, name, kind)
		}
		got := New(ask, slog.New(slog.DiscardHandler)).Check(t.Context(), Input{Raw: []byte(plainMessage), Remote: testRemote, MailFrom: "ann@example.com"})
		if got.SPF != app.AuthTempError {
			t.Errorf("got %s", got.SPF)
		}
	})
}

func TestPanicIsLoggedAndPermError(t *testing.T) {
	raw := sign(t, plainMessage, "example.com", "s", testKeys()["rsa"].signer)
	var log bytes.Buffer
	c := New(func(context.Context, string, app.DNSType) (app.DNSAnswer, error) { panic("broken") }, slog.New(slog.NewTextHandler(&log, nil)))
	got := c.Check(t.Context(), Input{Raw: []byte(raw), Remote: testRemote, MailFrom: "ann@example.com", FromDomains: []string{"example.com"}})
	want := app.ReceivedAuth{SPF: app.AuthPermError, DKIM: app.AuthPermError, DMARC: app.AuthPermError}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, check := range []string{"check=SPF", "check=DKIM", "check=DMARC"} {
		if !strings.Contains(log.String(), check) {
			t.Errorf("%s is missing in the log: %s", check, log.String())
		}
	}
}
