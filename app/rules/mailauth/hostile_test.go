package mailauth

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/google/go-cmp/cmp"

	"mailer/app"
)

func TestHostileSPF(t *testing.T) {
	repeat := strings.Repeat
	var tree, hosts, names zone
	for i := range 11 { // every record includes 10 others, of which every one includes 10 others
		record := fmt.Sprintf("i%d.test TXT v=spf1", i)
		for j := range 10 {
			record += fmt.Sprintf(" include:i%d.test", (i+j+1)%11)
		}
		tree = append(tree, record+" -all")
	}
	record := "example.com TXT v=spf1"
	for i := range 10 {
		record += fmt.Sprintf(" mx:m%d.test", i)
		for j := range 10 {
			hosts = append(hosts, fmt.Sprintf("m%d.test MX h%d.m%d.test", i, j, i), fmt.Sprintf("h%d.m%d.test A 203.0.113.1", j, i))
		}
	}
	hosts = append(hosts, record+" -all")
	for i := range 900 {
		names = append(names, fmt.Sprintf("1.2.0.192.in-addr.arpa PTR n%d.test", i))
	}
	names = append(names, "example.com TXT v=spf1 ptr ptr:a.test ptr:b.test -all")
	addresses := zone{"example.com TXT v=spf1 a ip4:192.0.2.1 -all"}
	for i := range maxRecords + 1 {
		addresses = append(addresses, fmt.Sprintf("example.com A 10.0.%d.%d", i/256, i%256))
	}
	for name, tt := range map[string]struct {
		zone    zone
		want    app.AuthResult
		lookups int // at most
	}{
		"include of itself":       {zone{"example.com TXT v=spf1 include:example.com -all"}, app.AuthPermError, 1},
		"redirect to itself":      {zone{"example.com TXT v=spf1 redirect=example.com"}, app.AuthPermError, 1},
		"includes in a circle":    {zone{"example.com TXT v=spf1 include:a.test -all", "a.test TXT v=spf1 include:b.test -all", "b.test TXT v=spf1 include:a.test -all"}, app.AuthPermError, 3},
		"names that never repeat": {zone{"example.com TXT v=spf1 exists:%{d}.test exists:a.%{d}.test exists:b.%{d}.test exists:c.%{d}.test +all"}, app.AuthPermError, 4},
		"tree of includes":        {append(tree, "example.com TXT v=spf1 include:i0.test -all"), app.AuthPermError, 11},
		"many hosts":              {hosts, app.AuthPermError, maxSPFAsked},
		"900 reverse names":       {names, app.AuthFail, 12},
		"many addresses":          {addresses, app.AuthPermError, 2},
		"64 KB record":            {zone{"example.com TXT v=spf1 " + repeat("ip4:203.0.113.1 ", 4000) + "ip4:192.0.2.1 -all"}, app.AuthPermError, 1},
		"64 KB record included":   {zone{"example.com TXT v=spf1 include:a.test +all", "a.test TXT v=spf1 " + repeat("a ", 32<<10)}, app.AuthPermError, 2},
		"64 KB text of others":    {zone{"example.com TXT " + repeat("x", 64<<10), "example.com TXT v=spf1 +all"}, app.AuthPass, 1},
		"long macro":              {zone{"example.com TXT v=spf1 exists:%{" + repeat("l", 8000) + "} +all"}, app.AuthPermError, 1},
		"2,000 terms":             {zone{"example.com TXT v=spf1 " + repeat("a ", 2000) + "+all"}, app.AuthPermError, 2},
		"bytes that are no text":  {zone{"example.com TXT v=spf1 \x00\xff\xfe:\x80 -all"}, app.AuthPermError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, asked := check(t, tt.zone, Input{Raw: []byte(plainMessage), Remote: testRemote, MailFrom: "ann@example.com"})
			if got.SPF != tt.want || len(asked) > tt.lookups {
				t.Errorf("got %s, want %s, with %d lookups of %d: %.500q", got.SPF, tt.want, len(asked), tt.lookups, asked)
			}
		})
	}
}

// TestManyHostsOfIPv6IsBounded: the term exists makes two lookups of each host.
func TestManyHostsOfIPv6IsBounded(t *testing.T) {
	z := zone{"example.com TXT v=spf1 mx:m0.test mx:m1.test mx:m2.test mx:m3.test mx:m4.test mx:m5.test mx:m6.test exists:a.test -all"}
	for i := range 7 {
		for j := range 10 {
			z = append(z, fmt.Sprintf("m%d.test MX h%d.m%d.test", i, j, i), fmt.Sprintf("h%d.m%d.test A 203.0.113.1", j, i))
		}
	}
	l := newLookups((&counter{zone: z}).lookup, maxSPFAsked)
	in := Input{Remote: testRemote, MailFrom: "ann@example.com"}
	if got := checkSPF(t.Context(), l, in); got.result != app.AuthFail {
		t.Errorf("IPv4: %+v after %d lookups", got, maxSPFAsked-l.left)
	}
	in.Remote = in.Remote.Next()
	l = newLookups((&counter{zone: z}).lookup, 20)
	if got := checkSPF(t.Context(), l, in); got.result != app.AuthPermError || l.left != 0 {
		t.Errorf("20 lookups: %+v", got)
	}
}

func TestHostileDKIM(t *testing.T) {
	key := testKeys()["rsa"]
	signed := sign(t, plainMessage, "example.com", "s", key.signer)
	z := zone{"s._domainkey.example.com TXT " + key.record, "_dmarc.example.com TXT v=DMARC1; p=reject"}
	var junk, good, below strings.Builder
	own := signed[:strings.Index(signed, "From: Ann")]
	for i := range 1000 {
		fmt.Fprintf(&junk, "DKIM-Signature: v=1; a=rsa-sha256; d=d%d.test; s=s; h=From; bh=AAAA; b=AAAA\r\n", i)
		if good.Len()+len(own) < maxHeader-len(plainMessage) {
			good.WriteString(own)
		}
		fmt.Fprintf(&below, "X-%d: a\r\n", i)
	}
	replaced := func(old, new string) string { return strings.Replace(signed, old, new, 1) }
	names := strings.Repeat(":x", maxSignedNames)
	for name, tt := range map[string]struct {
		raw     string
		want    app.AuthResult
		dmarc   app.AuthResult
		lookups int // of keys, at most
	}{
		"1,000 signatures of others above":      {junk.String() + signed, app.AuthPass, app.AuthPass, maxSignatures},
		"1,000 signatures of others, changed":   {junk.String() + strings.Replace(signed, "Bob", "Eve", 1), app.AuthFail, app.AuthFail, maxSignatures},
		"1,000 signatures of others below":      {own + junk.String() + plainMessage, app.AuthPass, app.AuthPass, maxSignatures},
		"hundreds of copies of a signature":     {good.String() + plainMessage, app.AuthPass, app.AuthPass, 1},
		"1,000 other fields":                    {below.String() + signed, app.AuthPass, app.AuthPass, 1},
		"header of 256 KiB":                     {"X: " + strings.Repeat("x", maxHeader) + "\r\n" + signed, app.AuthPermError, app.AuthPermError, 0},
		"header that never ends":                {strings.Repeat("X: y\r\n", 1<<20), app.AuthPermError, app.AuthPermError, 0},
		"field of 100,000 lines":                {"X: y\r\n" + strings.Repeat(" z\n", 50_000) + signed, app.AuthPass, app.AuthPass, 1},
		"signed field of 100,000 lines":         {strings.Replace(signed, "To: bob@example.net\r\n", "To: bob@example.net\r\n"+strings.Repeat(" z\n", 50_000), 1), app.AuthPermError, app.AuthFail, 0},
		"10,000 fields of a signed name":        {strings.Repeat("Subject: Hello\r\n", 10_000) + signed, app.AuthPermError, app.AuthFail, 0},
		"signature that names 10,000 fields":    {replaced("h=", "h="+strings.Repeat("x:", 10_000)), app.AuthPermError, app.AuthFail, 0},
		"signature that names too many":         {replaced("h=From", "h=From"+names), app.AuthPermError, app.AuthFail, 0},
		"signature of 16 KiB":                   {replaced("v=1;", "v=1; z="+strings.Repeat("x", maxSignature)+";"), app.AuthPermError, app.AuthFail, 0},
		"signature of 10,000 tags":              {replaced("v=1;", "v=1; "+strings.Repeat("z;", 10_000)), app.AuthPermError, app.AuthFail, 0},
		"body of line ends, then a word":        {signed + strings.Repeat("\r\n", maxEmptyLines) + "x", app.AuthPermError, app.AuthFail, 0},
		"message that begins with a line's end": {"\r\n" + signed, app.AuthNone, app.AuthNone, 0},
		"message that begins with a space":      {" x\r\n" + signed, app.AuthPass, app.AuthPass, 1},
		"domain that is no name":                {replaced("d=example.com", "d=..example..com"), app.AuthPermError, app.AuthFail, 0},
		"selector that can't be looked up":      {replaced("s=s;", `s=\300.s;`), app.AuthPermError, app.AuthFail, 0},
		"selector that is too long":             {replaced("s=s;", "s="+strings.Repeat("s", 300)+";"), app.AuthPermError, app.AuthFail, 0},
		"NUL":                                   {strings.ReplaceAll(signed, "a", "\x00"), app.AuthNone, app.AuthFail, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, asked := check(t, z, Input{Raw: []byte(tt.raw), FromDomains: []string{"example.com"}})
			keys := 0
			for _, q := range asked {
				if strings.Contains(q, "._domainkey.") {
					keys++
				}
			}
			if got.DKIM != tt.want || got.DMARC != tt.dmarc || keys > tt.lookups {
				t.Errorf("got %+v, want %s and %s, with %d lookups of keys of %d", got, tt.want, tt.dmarc, keys, tt.lookups)
			}
			if len(got.DKIMDomains) > maxSignatures {
				t.Errorf("%d domains", len(got.DKIMDomains))
			}
		})
	}
}

func TestHostileKeys(t *testing.T) {
	raw := []byte(sign(t, plainMessage, "example.com", "s", testKeys()["rsa"].signer))
	for name, record := range map[string]string{
		"64 KB":             strings.Repeat("x", 64<<10),
		"64 KB of a key":    testKeys()["rsa"].record + "; n=" + strings.Repeat("x", 64<<10),
		"bytes":             "\x00\xff=\xfe;;;=",
		"modulus of 48 KiB": "p=" + strings.Repeat("AAAA", 12<<10),
	} {
		t.Run(name, func(t *testing.T) {
			if got, asked := check(t, zone{"s._domainkey.example.com TXT " + record}, Input{Raw: raw}); got.DKIM != app.AuthPermError || len(asked) != 1 {
				t.Errorf("got %s after %q", got.DKIM, asked)
			}
		})
	}
}

func TestHostileDMARC(t *testing.T) {
	var many zone
	for range maxRecords + 1 {
		many = append(many, "_dmarc.example.com TXT x")
	}
	for name, tt := range map[string]struct {
		from string
		zone zone
		want app.AuthResult
	}{
		"64 KB record":    {"example.com", zone{"_dmarc.example.com TXT v=DMARC1; p=none; rua=" + strings.Repeat("x", 64<<10)}, app.AuthPermError},
		"1,001 records":   {"example.com", many, app.AuthPermError},
		"120 labels":      {strings.Repeat("a.", 119) + "example.com", nil, app.AuthNone},
		"long name":       {strings.Repeat("a23456789.", 24) + "example.com", nil, app.AuthNone},
		"name that is ..": {"..", nil, app.AuthNone},
		"bytes":           {"example.com", zone{"_dmarc.example.com TXT v=DMARC1;\x00=\xff;p=\xfe;;="}, app.AuthPermError},
	} {
		t.Run(name, func(t *testing.T) {
			got, asked := check(t, tt.zone, Input{Raw: []byte(plainMessage), FromDomains: []string{tt.from}})
			if got.DMARC != tt.want || got.FromAligned || len(asked) > maxDMARCAsked {
				t.Errorf("got %+v, want %s; asked for %q", got, tt.want, asked)
			}
		})
	}
}

// TestSlowServersOfOthersDontHideAFailure: the time of a check ends with the keys of 9 other domains. A
// forged message must not become a temperror by that.
func TestSlowServersOfOthersDontHideAFailure(t *testing.T) {
	raw := strings.Replace(sign(t, plainMessage, "example.com", "s", testKeys()["rsa"].signer), "Bob", "Eve", 1)
	for i := range 9 {
		raw = fmt.Sprintf("DKIM-Signature: v=1; a=rsa-sha256; d=d%d.test; s=s; h=From; bh=AAAA; b=AAAA\r\n", i) + raw
	}
	synctest.Test(t, func(t *testing.T) {
		z := &counter{zone: zone{"s._domainkey.example.com TXT " + testKeys()["rsa"].record, "_dmarc.example.com TXT v=DMARC1; p=reject"}}
		ask := func(ctx context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
			if strings.HasSuffix(name, ".test") {
				<-ctx.Done()
				return app.DNSAnswer{}, ctx.Err()
			}
			return z.lookup(ctx, name, kind)
		}
		in := Input{Raw: []byte(raw), Remote: testRemote, MailFrom: "x@slow.test", FromDomains: []string{"example.com"}}
		want := app.ReceivedAuth{SPF: app.AuthTempError, DKIM: app.AuthTempError, DMARC: app.AuthFail}
		if diff := cmp.Diff(want, New(ask, slog.New(slog.DiscardHandler)).Check(t.Context(), in)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLargeBodiesAreHashedAFewTimes: with 10 good signatures, 10 times the body would be hashed.
func TestLargeBodiesAreHashedAFewTimes(t *testing.T) {
	key := testKeys()["ed25519"]
	raw := plainMessage
	z := zone{}
	for i := range maxSignatures {
		raw = sign(t, raw, fmt.Sprintf("d%d.example.com", i), "s", key.signer, func(o *dkim.SignOptions) { o.HeaderKeys = []string{"From"} })
		z = append(z, fmt.Sprintf("s._domainkey.d%d.example.com TXT %s", i, key.record))
	}
	h := parseHeader([]byte(raw))
	if got := checkDKIM(t.Context(), newLookups((&counter{zone: z}).lookup, maxDKIMAsked), h, "", maxHashed); len(got.passed) != maxSignatures {
		t.Errorf("of a small message %d pass: %+v", len(got.passed), got)
	}
	h.body = bytes.Repeat([]byte("hello\r\n"), 1000)
	c := &counter{zone: z}
	if got := checkDKIM(t.Context(), newLookups(c.lookup, maxDKIMAsked), h, "", 4*len(h.body)+1); got.result != app.AuthFail || len(c.asked) != 4 {
		t.Errorf("of a large message %d signatures were checked: %+v", len(c.asked), got)
	}
}

// FuzzCheck: no input makes a check panic, exceed its lookups, or pass without a key.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(plainMessage), "v=spf1 -all", "v=DKIM1; p=", "v=DMARC1; p=none", "ann@example.com", "example.com")
	f.Add([]byte(sign(f, plainMessage, "example.com", "s", testKeys()["rsa"].signer)), "v=spf1 exists:%{i}.%{s} mx ptr", "k=ed25519; p=AAAA", "v=DMARC1", "", "mta.example.com")
	f.Add([]byte("DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; h=from; bh=; b=;\n\n"), "v=spf1 redirect=%{h}", "p=MA==", "v=DMARC1;=;", "@", "a")
	f.Fuzz(func(t *testing.T, raw []byte, spf, key, dmarc, from, helo string) {
		n := 0
		_, domain, _ := strings.Cut(from, "@")
		var mu sync.Mutex
		ask := func(_ context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			answer := app.DNSAnswer{NameExists: true}
			switch {
			case kind != app.DNSText:
				answer.Records = []app.DNSValue{{Text: helo}, {Text: domain}}
			case strings.Contains(name, "._domainkey."):
				answer.Records = []app.DNSValue{{Text: key}}
			case strings.HasPrefix(name, "_dmarc."):
				answer.Records = []app.DNSValue{{Text: dmarc}}
			default:
				answer.Records = []app.DNSValue{{Text: spf}}
			}
			return answer, nil
		}
		var log bytes.Buffer
		got := New(ask, slog.New(slog.NewTextHandler(&log, nil))).Check(t.Context(), Input{Raw: raw, Remote: testRemote, MailFrom: from, Helo: helo, FromDomains: []string{domain}})
		if log.Len() > 0 {
			t.Error(log.String())
		}
		if n > maxSPFAsked+maxDKIMAsked+maxDMARCAsked {
			t.Errorf("%d lookups", n)
		}
		if got.DKIM == app.AuthPass && !bytes.Contains(raw, []byte("b=")) {
			t.Errorf("%+v", got)
		}
	})
}
