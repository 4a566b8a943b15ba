package bounce

import (
	"strings"
	"unicode"
)

const (
	maxText   = 16 << 10 // bytes of a text that are searched
	maxTokens = 3000
	maxGap    = 6 // words that * matches
)

// pattern is a phrase: the alternatives for each word, nil for a gap.
type pattern [][]string

// indexed is a pattern with its row.
type indexed struct {
	pattern
	row int
}

// index maps the first words of phrases to patterns.
var index = func() map[string][]indexed {
	byWord := map[string][]indexed{}
	for i, row := range phraseRows {
		for _, phrase := range row.phrases {
			p := compile(phrase)
			for _, word := range p[0] {
				byWord[word] = append(byWord[word], indexed{p, i})
			}
		}
	}
	return byWord
}()

// compile parses a phrase.
func compile(phrase string) (p pattern) {
	for _, word := range strings.Fields(phrase) {
		if word == "*" {
			p = append(p, nil)
			continue
		}
		if name, ok := strings.CutPrefix(word, "<"); ok {
			word = groups[strings.TrimSuffix(name, ">")]
		}
		p = append(p, strings.Split(word, "|"))
	}
	return p
}

// endsGap are words that change the subject of a phrase, so that a gap can't contain them.
var endsGap = map[string]bool{"domain": true, "host": true, "hostname": true, "server": true, "sender": true, "sender's": true, "mx": true, "dns": true, "relay": true,
	"message": true, "certificate": true, "domäne": true, "absender": true, "domaine": true, "dominio": true, "command": true}

// matches reports whether the pattern matches at a word. Gaps limit its work.
func (p pattern) matches(words []string, at int) bool {
	for i, fits := range p {
		if fits == nil {
			for gap := 0; gap <= maxGap; gap++ {
				if p[i+1:].matches(words, at+gap) {
					return true
				}
				if at+gap >= len(words) || endsGap[words[at+gap]] {
					return false
				}
			}
			return false
		}
		if at >= len(words) || !contains(fits, words[at]) {
			return false
		}
		at++
	}
	return true
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// tokens returns the words of a text in lower case, without addresses, host names and numbers.
func tokens(text string) (words []string) {
	text = strings.NewReplacer("’", "'", "‘", "'", "`", "'").Replace(text)
	for run := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
		if strings.Contains(run, "@") && !strings.Contains(run, "://") {
			run = withoutAddress(run)
		}
		if len(words) >= maxTokens {
			break
		}
		if host, rest, _ := strings.Cut(strings.TrimLeft(run, "[(<\"'"), "["); isHost(strings.Trim(host, "[]()<>,;:\"'.")) {
			run = rest
		}
		for word := range strings.FieldsFuncSeq(run, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && !unicode.IsMark(r) }) {
			if word = strings.ToLower(strings.Trim(word, "'")); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

// withoutAddress removes an address from a run of characters: "<bob@example.com>:User".
func withoutAddress(run string) string {
	i := strings.IndexByte(run, '@')
	from := strings.LastIndexAny(run[:i], "<([\"':;,=") + 1
	rest := run[i:]
	to := strings.IndexAny(rest, ">)]\"':;,")
	if to < 0 {
		return run[:from]
	}
	return run[:from] + " " + rest[to:]
}

// isHost reports whether a run of characters is a host name: labels in lower case with dots
// between them, the last one of letters only.
func isHost(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || len(s)-i < 3 || strings.Contains(s, "/") {
		return false
	}
	for _, c := range []byte(s[i+1:]) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return strings.ToLower(s) == s
}
