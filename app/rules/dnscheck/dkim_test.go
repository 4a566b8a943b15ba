package dnscheck

import (
	"context"
	"strings"
	"testing"

	"mailer/app"
)

func TestDKIMFaults(t *testing.T) {
	key, other := testKey(), makeKey(1)
	const at = "mailer._domainkey.example.com "
	whole := "v=DKIM1; k=rsa; p=" + key
	for name, f := range map[string]problem{
		"found":                       {[]string{at + "TXT " + whole}, app.LiveFound, nil},
		"found, split at 255":         {[]string{at + "TXT " + whole[:255] + "|" + whole[255:]}, app.LiveFound, nil},
		"found, blanks in the key":    {[]string{at + "TXT v=DKIM1; k=rsa; p=" + key[:70] + " " + key[70:140] + "\r\n\t" + key[140:]}, app.LiveFound, nil},
		"found, no blanks, no k":      {[]string{at + "TXT v=DKIM1;p=" + key + ";"}, app.LiveFound, nil},
		"found, only p":               {[]string{at + "TXT p=" + key}, app.LiveFound, nil},
		"found, padded":               {[]string{at + "TXT " + whole + "=="}, app.LiveFound, nil},
		"found, other tags":           {[]string{at + "TXT v=DKIM1; h=sha1:sha256; s=email; n=note; " + "p=" + key}, app.LiveFound, nil},
		"found, testing":              {[]string{at + "TXT v=DKIM1; t=s:y; p=" + key}, app.LiveFound, []string{"t=y", "Take it out"}},
		"found by CNAME":              {[]string{at + "CNAME key.other.test", "key.other.test TXT " + whole}, app.LiveFound, nil},
		"missing":                     {nil, app.LiveMissing, []string{"no TXT record at mailer._domainkey.example.com", "Add one"}},
		"missing, name typed twice":   {[]string{"mailer._domainkey.example.com.example.com TXT " + whole}, app.LiveMissing, []string{"The record is at mailer._domainkey.example.com.example.com", "enter only mailer._domainkey as the name"}},
		"a CNAME in the way":          {[]string{at + "CNAME old.other.test", "old.other.test A 192.0.2.1"}, app.LiveMissing, []string{"CNAME to old.other.test", "Delete the CNAME"}},
		"a CNAME to another's key":    {[]string{at + "CNAME old.other.test", "old.other.test TXT v=DKIM1; k=rsa; p=" + other}, app.LiveMismatch, []string{"CNAME to old.other.test", "another key (RSA of 2048 bits"}},
		"another key":                 {[]string{at + "TXT v=DKIM1; k=rsa; p=" + other}, app.LiveMismatch, []string{"another key (RSA of 2048 bits", "Put the value shown in its place"}},
		"cut off at 255":              {[]string{at + "TXT " + whole[:255]}, app.LiveMismatch, []string{"cut off after 255 characters", "second string of the same record"}},
		"cut off elsewhere":           {[]string{at + "TXT " + whole[:150]}, app.LiveMismatch, []string{"cut off: it has 132 of 392"}},
		"beginning cut off":           {[]string{at + "TXT v=DKIM1; p=" + key[50:]}, app.LiveMismatch, []string{"beginning of the key is missing"}},
		"something behind":            {[]string{at + "TXT " + strings.TrimRight(whole, "=") + "AAA"}, app.LiveMismatch, []string{"followed by something more", `"AAA"`}},
		"one character changed":       {[]string{at + "TXT v=DKIM1; p=" + key[:100] + "!" + key[101:]}, app.LiveMismatch, []string{"differs from character 101 on", "instead of"}},
		"lower case":                  {[]string{at + "TXT v=DKIM1; p=" + strings.ToLower(key)}, app.LiveMismatch, []string{"upper and lower case"}},
		"split into records":          {[]string{at + "TXT " + whole[255:], at + "TXT " + whole[:255]}, app.LiveMismatch, []string{"split into 2 TXT records", "one TXT record"}},
		"split into three records":    {[]string{at + "TXT " + whole[200:300], at + "TXT " + whole[:200], at + "TXT " + whole[300:]}, app.LiveMismatch, []string{"split into 3 TXT records"}},
		"two records, one right":      {[]string{at + "TXT " + whole, at + "TXT v=DKIM1; p=" + other}, app.LiveMismatch, []string{"2 TXT records", "the right one among them", "Delete the others"}},
		"two records, both wrong":     {[]string{at + "TXT v=DKIM1; p=", at + "TXT hello"}, app.LiveMismatch, []string{"2 TXT records", "none has the right value"}},
		"revoked":                     {[]string{at + "TXT v=DKIM1; p="}, app.LiveMismatch, []string{"p= is empty", "revoked"}},
		"quotes typed":                {[]string{at + `TXT "` + whole + `"`}, app.LiveMismatch, []string{"quotation marks or backslashes are part"}},
		"quotes between the parts":    {[]string{at + `TXT "` + whole[:255] + `" "` + whole[255:] + `"`}, app.LiveMismatch, []string{"quotation marks"}},
		"backslashes typed":           {[]string{at + "TXT " + strings.ReplaceAll(whole, ";", `\;`)}, app.LiveMismatch, []string{"backslashes are part"}},
		"no key":                      {[]string{at + "TXT v=DKIM1; k=rsa"}, app.LiveMismatch, []string{"no p= tag"}},
		"the bare key":                {[]string{at + "TXT " + strings.TrimRight(key, "=")}, app.LiveMismatch, []string{"not a DKIM record", "Replace it by the value shown"}},
		"an SPF record":               {[]string{at + "TXT v=spf1 -all"}, app.LiveMismatch, []string{`"v=spf1 -all" is not a DKIM record`}},
		"a wrong version":             {[]string{at + "TXT v=DKIM2; p=" + key}, app.LiveMismatch, []string{"v=DKIM1"}},
		"the version not first":       {[]string{at + "TXT p=" + key + "; v=DKIM1"}, app.LiveMismatch, []string{"come first"}},
		"a tag twice":                 {[]string{at + "TXT v=DKIM1; p=" + key + "; p=" + key}, app.LiveMismatch, []string{"p= is there twice"}},
		"the key called Ed25519":      {[]string{at + "TXT v=DKIM1; k=ed25519; p=" + key}, app.LiveMismatch, []string{"k=ed25519", "k=rsa"}},
		"an Ed25519 key":              {[]string{at + "TXT v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="}, app.LiveMismatch, []string{"another key (Ed25519"}},
		"SHA-1 alone":                 {[]string{at + "TXT v=DKIM1; h=sha1; p=" + key}, app.LiveMismatch, []string{"forbids SHA-256"}},
		"not for email":               {[]string{at + "TXT v=DKIM1; s=tlsrpt; p=" + key}, app.LiveMismatch, []string{"forbids its use for email"}},
		"no answer":                   {[]string{at + "fail"}, app.LiveUnknown, []string{"DNS lookup failed for mailer._domainkey.example.com: answered SERVFAIL"}},
		"control characters in value": {[]string{at + "TXT \x1b[2J\xff"}, app.LiveMismatch, []string{`"?[2J?"`}},
	} {
		t.Run(name, func(t *testing.T) {
			f.check(t, checkOf(t, testDomain("example.com"), sesNeeds, app.RecordDKIM, "TXT", f.lines...))
		})
	}
}

func TestDKIMRecordAtWrongName(t *testing.T) {
	whole := " TXT v=DKIM1; k=rsa; p=" + testKey()
	for at, words := range map[string]string{
		"mailer._domainkey.news.example.com.news.example.com": "enter only mailer._domainkey as the name",
		"mailer._domainkey.news.example.com.example.com":      "enter only mailer._domainkey.news as the name",
		"mailer._domainkey.example.com":                       "enter mailer._domainkey.news as the name",
	} {
		got := checkOf(t, testDomain("news.example.com"), sesNeeds, app.RecordDKIM, "TXT", at+whole)
		problem{nil, app.LiveMissing, []string{"The record is at " + at, words}}.check(t, got)
	}
}

func TestDKIMKeysOfSwappedSelectors(t *testing.T) {
	d := testDomain("example.com")
	d.Keys = append(d.Keys, app.DKIMPair{Selector: "mailer2", State: app.DKIMNext, Public: makeKey(1)})
	got := checkOf(t, d, sesNeeds, app.RecordDKIM, "TXT", "mailer._domainkey.example.com TXT v=DKIM1; p="+d.Keys[1].Public)
	problem{nil, app.LiveMismatch, []string{"key of the selector mailer2"}}.check(t, got)
}

func TestDKIMLostPlusSigns(t *testing.T) {
	live, detail := compareDKIM("p=ABCD", "AB+CD", nil)
	if live != app.LiveMismatch || !strings.Contains(detail, "plus signs") {
		t.Errorf("%s: %s", live, detail)
	}
}

func TestRetiredKeysNeedNoLookup(t *testing.T) {
	d := testDomain("example.com")
	d.Keys[0].State = app.DKIMRetired
	asked := 0
	for _, c := range Check(t.Context(), d, app.RelayNeeds{}, "", func(ctx context.Context, name string, kind app.DNSType) (app.DNSAnswer, error) {
		if strings.Contains(name, "_domainkey") {
			asked++
		}
		return provider.lookup(ctx, name, kind)
	}) {
		if c.Record == app.RecordDKIM && (c.Live != app.LiveMissing || !strings.Contains(c.Detail, "any more")) {
			t.Errorf("%+v", c)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func FuzzCompareDKIM(f *testing.F) {
	key := testKey()
	for _, s := range []string{"", "v=DKIM1; k=rsa; p=" + key, "p=", `"v=DKIM1\; p="`, "v=DKIM1; p=" + key[:100], ";;=;", "p=\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		live, detail := compareDKIM(s, key, nil)
		if live == app.LiveFound && !strings.Contains(withoutFWS(s), strings.TrimRight(key, "=")) {
			t.Errorf("found in %q", s)
		}
		if live != app.LiveFound && detail == "" || len(detail) > 1500 {
			t.Errorf("%q: %s, %q", s, live, detail)
		}
		compareDKIMRecords([]app.DNSValue{{Text: s}, {Text: s}}, key, nil)
	})
}
