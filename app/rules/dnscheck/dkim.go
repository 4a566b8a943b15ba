package dnscheck

import (
	"context"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"

	"mailer/app"
)

// checkDKIM checks the record of one key pair (RFC 6376 3.6.1).
func (c *checker) checkDKIM(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSText)
	if err != nil {
		return unanswered(r, err)
	}
	key := strings.TrimPrefix(r.Value, "v=DKIM1; k=rsa; p=")
	switch len(answer.Records) {
	case 0:
		if !r.Required && !c.isNext(r.Name) { // not worth more lookups for a retired key
			return verdict(r, app.LiveMissing, "There is no TXT record at %s any more; mail that is still on its way was signed with this key.", r.Name)
		}
		return c.absent(ctx, r, answer, func(v app.DNSValue) bool { return looksLikeDKIM(v.Text) })
	case 1:
		live, detail := compareDKIM(answer.Records[0].Text, key, c.domain.Keys)
		if detail != "" {
			detail = "At " + at(r.Name, answer) + ": " + detail
		}
		return verdict(r, live, "%s", detail)
	}
	return verdict(r, app.LiveMismatch, "At %s: %s", at(r.Name, answer), compareDKIMRecords(answer.Records, key, c.domain.Keys))
}

func (c *checker) isNext(name string) bool {
	for _, k := range c.domain.Keys {
		if k.State == app.DKIMNext && c.domain.DKIMName(k.Selector) == name {
			return true
		}
	}
	return false
}

func looksLikeDKIM(text string) bool {
	text = strings.TrimLeft(text, fws+`"`)
	return len(text) >= 6 && strings.EqualFold(text[:6], "v=DKIM") || strings.Contains(text, "p=MI")
}

// compareDKIMRecords describes what is wrong with several records at one name, of which verifiers
// may use any (RFC 6376 3.6.2.2).
func compareDKIMRecords(values []app.DNSValue, key string, keys []app.DKIMPair) string {
	if isSplitKey(values, key) {
		return fmt.Sprintf("the value is split into %d TXT records, which come in any order. Make it one TXT record; if the DNS panel wants parts of at most 255 characters, they are several strings of that one record.", len(values))
	}
	for i, v := range values {
		if live, _ := compareDKIM(v.Text, key, keys); live == app.LiveFound {
			other := values[(i+1)%len(values)]
			return fmt.Sprintf("there are %d TXT records, the right one among them, and receivers may take any. Delete the others, like %s.", len(values), quoted(other.Text))
		}
	}
	return fmt.Sprintf("there are %d TXT records, and none has the right value; the first is %s. Delete them all and add one with the value shown.", len(values), quoted(values[0].Text))
}

// isSplitKey reports whether the records are parts of the key in some order.
func isSplitKey(values []app.DNSValue, key string) bool {
	if len(values) > 12 { // nobody splits a key of 2048 bits into more parts
		return false
	}
	rest, used := "", make([]bool, len(values))
	for i, v := range values {
		text := strings.ReplaceAll(withoutFWS(v.Text), `"`, "")
		if _, p, found := strings.Cut(text, "p="); found && strings.HasPrefix(key, p) {
			used[i], rest = true, key[len(p):]
			break
		}
	}
	for parts := 1; parts < len(values); parts++ {
		before := len(rest)
		for i, v := range values {
			part := strings.ReplaceAll(withoutFWS(v.Text), `"`, "")
			if !used[i] && part != "" && strings.HasPrefix(rest, part) {
				used[i], rest = true, rest[len(part):]
				break
			}
		}
		if len(rest) == before {
			return false
		}
	}
	return rest == ""
}

// compareDKIM compares one record with the expected key in base64. The detail follows "At NAME: ".
// keys are all keys of the domain.
func compareDKIM(text, key string, keys []app.DKIMPair) (app.Live, string) {
	if strings.ContainsAny(text, `"\`) {
		bare := strings.NewReplacer(`"`, "", `\`, "").Replace(text)
		if live, _ := compareDKIM(bare, key, keys); live == app.LiveFound {
			return app.LiveMismatch, fmt.Sprintf("quotation marks or backslashes are part of the value (%s). The DNS panel adds its own where they are needed: enter the value shown without any.", quoted(text))
		}
	}
	tags, err := parseTags(text)
	if err != nil {
		return app.LiveMismatch, fmt.Sprintf("%s is not a DKIM record: %s. Replace it by the value shown.", quoted(text), err)
	}
	if v, ok := tags.get("v"); ok && (v != "DKIM1" || tags[0].name != "v") {
		return app.LiveMismatch, fmt.Sprintf("%s is not a DKIM record: a v= tag must come first and be v=DKIM1. Replace it by the value shown.", quoted(text))
	}
	p, ok := tags.get("p")
	if !ok {
		return app.LiveMismatch, fmt.Sprintf("%s has no p= tag with the key. Replace it by the value shown.", quoted(text))
	}
	if wrong := compareKeys(withoutFWS(p), key, len(text), keys); wrong != "" {
		return app.LiveMismatch, wrong
	}
	if wrong := refusedByTags(tags); wrong != "" {
		return app.LiveMismatch, wrong
	}
	if flags, _ := tags.get("t"); listHas(flags, "y") {
		return app.LiveFound, "the flag t=y tells receivers that DKIM is only being tested, so that some ignore it. Take it out."
	}
	return app.LiveFound, ""
}

// refusedByTags describes tags that prevent our use of the right key.
func refusedByTags(tags tagList) string {
	if k, ok := tags.get("k"); ok && k != "rsa" {
		return fmt.Sprintf("the key is right, but the record calls it %s. Make it k=rsa.", quoted("k="+k))
	}
	if h, ok := tags.get("h"); ok && !listHas(h, "sha256") {
		return fmt.Sprintf("the key is right, but %s forbids SHA-256, which mail is signed with. Take that tag out.", quoted("h="+h))
	}
	if s, ok := tags.get("s"); ok && !listHas(s, "*", "email") {
		return fmt.Sprintf("the key is right, but %s forbids its use for email. Take that tag out.", quoted("s="+s))
	}
	return ""
}

// compareKeys describes how a found key (without blanks) differs from the expected one; empty: it
// does not. length is the length of the record.
func compareKeys(found, key string, length int, keys []app.DKIMPair) string {
	got, want := strings.TrimRight(found, "="), strings.TrimRight(key, "=")
	switch {
	case got == want:
		return ""
	case got == "":
		return "p= is empty, which means that the key was revoked. Put the value shown in its place."
	case strings.EqualFold(got, want):
		return "upper and lower case of the key have changed on the way; they matter. Enter the value shown as it is."
	case strings.HasPrefix(want, got) && length >= 250 && length <= 256:
		return fmt.Sprintf("the value is cut off after %d characters: one string of a TXT record holds 255. Enter the rest as a second string of the same record (many DNS panels split automatically when the whole value is pasted).", length)
	case strings.HasPrefix(want, got):
		return fmt.Sprintf("the key is cut off: it has %d of %d characters and ends in %s. Enter the whole value shown.", len(got), len(want), quoted(tail(got)))
	case strings.HasPrefix(got, want):
		return fmt.Sprintf("the right key is followed by something more: %s. Take that out.", quoted(got[len(want):]))
	case strings.HasSuffix(want, got):
		return "the beginning of the key is missing. Enter the whole value shown."
	case strings.ReplaceAll(want, "+", "") == got:
		return "the plus signs of the key are lost. Enter the value shown as it is."
	}
	for _, k := range keys {
		if strings.TrimRight(k.Public, "=") == got {
			return fmt.Sprintf("it holds the key of the selector %s. Put the value shown for this name in its place.", k.Selector)
		}
	}
	if kind := kindOfKey(found); kind != "" {
		return fmt.Sprintf("it holds another key (%s, p=%s), perhaps of another provider or an earlier set-up. Put the value shown in its place.", kind, printable(got, 24))
	}
	i := commonPrefix(got, want)
	return fmt.Sprintf("the key differs from character %d on: %s instead of %s. Enter the value shown as it is.", i+1, quoted(part(got, i)), quoted(part(want, i)))
}

// kindOfKey returns the type of a key in base64; empty: invalid.
func kindOfKey(s string) string {
	if len(s) > 4096 {
		return ""
	}
	der, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	if len(der) == ed25519.PublicKeySize {
		return "Ed25519"
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return ""
	}
	if key, ok := parsed.(*rsa.PublicKey); ok {
		return fmt.Sprintf("RSA of %d bits", key.N.BitLen())
	}
	return "of another kind than RSA"
}

func commonPrefix(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// part returns up to 16 bytes of s from i.
func part(s string, i int) string { return s[i:min(len(s), i+16)] }

func tail(s string) string { return s[max(0, len(s)-16):] }
