// Package erase removes erased addresses from stored fields that hold addresses: address lists,
// JSON, and texts of logs. It does no I/O and keeps no state. A Set is immutable.
//
// Failure policy: nothing stops at a damaged value. Invalid JSON is scrubbed as a text, and an
// invalid address list is kept.
package erase

import (
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// Set is a set of addresses to erase. Its methods take linear time.
type Set struct {
	addresses map[string]bool // by key
	domains   map[string]bool
}

// NewSet returns the set of some addresses in any spelling.
func NewSet(addresses []string) *Set {
	e := &Set{addresses: make(map[string]bool, len(addresses)), domains: map[string]bool{}}
	for _, address := range addresses {
		address = app.KeyOf(address).String()
		local, domain, found := strings.Cut(address, "@")
		if !found || local == "" || domain == "" {
			continue
		}
		e.addresses[address], e.domains[domain] = true, true
	}
	return e
}

// OnlyDomain returns the common domain of all addresses in A-labels; empty: several.
func (e *Set) OnlyDomain() string {
	if len(e.domains) != 1 {
		return ""
	}
	for domain := range e.domains {
		return domain
	}
	return ""
}

// Has reports whether an address in any spelling is in the set.
func (e *Set) Has(address string) bool {
	local, domain, found := strings.Cut(address, "@")
	return found && e.has(local, mailbox.FoldDomain(domain))
}

func (e *Set) has(local, domain string) bool {
	return e.domains[domain] && e.addresses[mailbox.FoldLocal(local)+"@"+domain]
}

// In reports whether Scrub would change the text.
func (e *Set) In(text string) bool {
	_, _, found := e.find(text, 0)
	return found
}

// Scrub replaces each address of the set by Erased. The longest possible address counts:
// "xfoo@bar.com" and "foo@bar.com.au" are not foo@bar.com, and "email=foo@bar.com" contains it.
// The @ may be percent-encoded. Text without such an address is returned unchanged.
func (e *Set) Scrub(text string) string {
	begin, end, found := e.find(text, 0)
	if !found {
		return text
	}
	var out strings.Builder
	last := 0
	for found {
		out.WriteString(text[last:begin])
		out.WriteString(app.Erased)
		last = end
		begin, end, found = e.find(text, last)
	}
	out.WriteString(text[last:])
	return out.String()
}

// Mask overwrites each address of the set in content by x, without moving other bytes, and reports
// whether there was one.
func (e *Set) Mask(content []byte) (changed bool) {
	text := string(content)
	for begin, end, found := e.find(text, 0); found; begin, end, found = e.find(text, end) {
		changed = true
		for i := begin; i < end; i++ {
			content[i] = 'x'
		}
	}
	return changed
}

// find returns the first address of the set at or after from.
func (e *Set) find(s string, from int) (begin, end int, found bool) {
	for {
		sign, size := nextAt(s, from)
		if size == 0 {
			return 0, 0, false
		}
		ends, domains := e.domainsAt(s, sign+size)
		for i, domain := range domains {
			if begin, ok := e.localBefore(s, from, sign, domain); ok {
				return begin, ends[i], true
			}
		}
		from = sign + size // a local part has no @
	}
}

// addressSigns are the spellings of @ in URLs.
var addressSigns = [...]string{"@", "%40", "%2540"}

// nextAt returns the next @ at or after from; size 0: none.
func nextAt(s string, from int) (at, size int) {
	for i := from; ; i++ {
		next := strings.IndexAny(s[i:], "@%")
		if next < 0 {
			return 0, 0
		}
		i += next
		for _, sign := range addressSigns {
			if strings.HasPrefix(s[i:], sign) {
				return i, len(sign)
			}
		}
	}
}

// domainsAt returns the domains of the set that the text from i may begin with, and their ends: of
// the longest run, and, since some scripts have no spaces between words, of shorter ones.
func (e *Set) domainsAt(s string, i int) (ends []int, domains []string) {
	const longest = 4 * app.MaxDomain
	end, first, last := i, -1, -1 // ends of the leading ASCII, and of the last ASCII
	for end < len(s) && end-i < longest {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !isDomainRune(r) {
			break
		}
		if r >= utf8.RuneSelf && first < 0 {
			first = end
		}
		if end += size; r < utf8.RuneSelf {
			last = end
		}
	}
	for n, stop := range [...]int{end, last, first} {
		if stop <= i || n > 0 && stop == end {
			continue
		}
		text := strings.TrimRight(s[i:stop], ".-")
		if domain := mailbox.FoldDomain(text); e.domains[domain] {
			ends, domains = append(ends, i+len(text)), append(domains, domain)
		}
	}
	return ends, domains
}

func isDomainRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '.' || r == '-' || isAlnum(byte(r))
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// localBefore returns the start of an address of the set whose @ is at sign, not before from.
func (e *Set) localBefore(s string, from, sign int, domain string) (begin int, ok bool) {
	const longest = 3*mailbox.MaxLocal + 8 // percent-encoded
	start := sign
	for start > from && sign-start < longest {
		r, size := utf8.DecodeLastRuneInString(s[from:start])
		if r != '.' && !mailbox.IsAtext(r) {
			break
		}
		start -= size
	}
	open, escaped := start == from || sign-start < longest, escapedUntil(s, from, start, sign)
	for p := start; p < sign; {
		if (open || p == escaped) && e.isLocal(s[p:sign], domain) {
			return p, true
		}
		r, size := utf8.DecodeRuneInString(s[p:])
		if isBreak(r) {
			escaped = max(escaped, pastHex(s, p, sign))
		}
		open = isBreak(r) || (open || p == escaped) && strings.ContainsRune("-_+.", r) ||
			r == '.' && p+1 < sign && p > start && s[p-1] == '.'
		p += size
	}
	return 0, false
}

func (e *Set) isLocal(text, domain string) bool {
	if e.has(text, domain) {
		return true
	}
	if !strings.Contains(text, "%") {
		return false
	}
	plain, err := url.PathUnescape(text)
	return err == nil && e.has(plain, domain)
}

// isBreak reports whether a character that is valid in a local part more often separates:
// "email=foo@bar.com", "‘foo@bar.com’", or words in a script without spaces.
func isBreak(r rune) bool {
	if r < utf8.RuneSelf {
		return strings.ContainsRune("!#$%&'*/=?^`{|}~", r)
	}
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pastHex returns the end of an escape at p, as %3D, if it is not a letter or digit; otherwise -1.
func pastHex(s string, p, sign int) int {
	if s[p] != '%' || p+3 > sign {
		return -1
	}
	var c [1]byte
	if _, err := hex.Decode(c[:], []byte(s[p+1:p+3])); err != nil || isAlnum(c[0]) {
		return -1
	}
	return p + 3
}

// escapedUntil returns the end of a backslash escape before start, as in a response that repeats
// JSON: \n, \u003c; otherwise -1.
func escapedUntil(s string, from, start, sign int) int {
	if start <= from || start >= sign || s[start-1] != '\\' {
		return -1
	}
	size := map[byte]int{'n': 1, 'r': 1, 't': 1, 'u': 5}[s[start]]
	if size == 0 || start+size > sign {
		return -1
	}
	return start + size
}
