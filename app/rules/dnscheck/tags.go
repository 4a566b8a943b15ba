package dnscheck

import (
	"errors"
	"fmt"
	"strings"
)

// tag is an entry of a tag list, `v=DKIM1; p=…` (RFC 6376 3.2, RFC 7489 6.3).
type tag struct{ name, value string }

type tagList []tag

// parseTags parses a tag list. Names are case-sensitive (RFC 6376 3.2). Blanks and line breaks
// around names and values are removed.
func parseTags(s string) (tagList, error) {
	var tags tagList
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ";") {
		part = trimFWS(part)
		if part == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		name = trimFWS(name)
		if !found || !isTagName(name) {
			return nil, fmt.Errorf("%s is not of the form name=value", quoted(part))
		}
		if seen[name] {
			return nil, fmt.Errorf("the tag %s= is there twice", quotedTag(name))
		}
		seen[name] = true
		tags = append(tags, tag{name, trimFWS(value)})
	}
	if len(tags) == 0 {
		return nil, errors.New("it is empty")
	}
	return tags, nil
}

func quotedTag(name string) string { return printable(name, 20) }

func isTagName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (s[i] < '0' || s[i] > '9') && s[i] != '_') {
			return false
		}
	}
	return s != ""
}

// get returns the value of a tag.
func (l tagList) get(name string) (value string, ok bool) {
	for _, t := range l {
		if t.name == name {
			return t.value, true
		}
	}
	return "", false
}

const fws = " \t\r\n"

func trimFWS(s string) string { return strings.Trim(s, fws) }

// withoutFWS removes all folding white space.
func withoutFWS(s string) string {
	if !strings.ContainsAny(s, fws) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(fws, r) {
			return -1
		}
		return r
	}, s)
}

// listHas reports whether a colon-separated list contains one of the words.
func listHas(list string, words ...string) bool {
	for item := range strings.SplitSeq(list, ":") {
		for _, w := range words {
			if strings.EqualFold(trimFWS(item), w) {
				return true
			}
		}
	}
	return false
}
