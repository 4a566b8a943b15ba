package inbound

import (
	"strings"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// address is a mailbox in a field: the name is not decoded, and neither has been checked.
type address struct{ name, spec string }

// readFrom reads the authors. Their addresses are read before encoded words are decoded, which
// could hide another address.
func (m *Message) readFrom(decode func(string) string) {
	values := m.fields.all("from")
	var list []address
	var shown []string
	for _, value := range values[:min(len(values), maxAddresses)] {
		for _, a := range splitAddresses(value) {
			if text := a.shown(decode); text != "" && len(list) < maxAddresses {
				list, shown = append(list, a), append(shown, text)
				email := a.email()
				m.FromDomains = append(m.FromDomains, email[strings.LastIndexByte(email, '@')+1:])
			}
		}
	}
	m.From = strings.Join(shown, ", ")
	if len(values) == 1 && len(list) == 1 {
		m.FromEmail = list[0].email()
	}
}

// addresses returns the mailboxes of all fields with a name as people read them.
func (m *Message) addresses(lower string, decode func(string) string) (shown []string) {
	for _, value := range m.fields.all(lower) {
		for _, a := range splitAddresses(value) {
			if text := a.shown(decode); text != "" && len(shown) < maxAddresses {
				shown = append(shown, text)
			}
		}
	}
	return shown
}

// email returns the key of the address; empty: not readable. Local parts with misplaced dots
// exist.
func (a address) email() string {
	if len(a.spec) > mailbox.MaxInput {
		return ""
	}
	if one, err := app.ParseAddress(a.spec); err == nil {
		return one.Key().String()
	}
	at := strings.LastIndexByte(a.spec, '@')
	if at < 0 {
		return ""
	}
	local := a.spec[:at]
	domain, err := mailbox.ParseDomain(a.spec[at+1:])
	if err != nil || mailbox.CheckLocal(strings.ReplaceAll(local, ".", "x")) != nil {
		return ""
	}
	return app.KeyOf(local + "@" + domain).String()
}

// shown returns the mailbox as people read it; empty: nothing.
func (a address) shown(decode func(string) string) string {
	name := oneLine(withoutHidden(decode(a.name)), mailbox.MaxInput)
	one, err := app.ParseAddress(a.spec)
	if err != nil {
		one = app.Address{}
		spec := oneLine(withoutHidden(decode(a.spec)), mailbox.MaxInput)
		at := strings.LastIndexByte(spec, '@')
		switch {
		case spec == "":
			return name
		case name == "" || at < 0:
			return strings.TrimSpace(name + " " + spec)
		}
		one.Local, one.Domain = spec[:at], spec[at+1:]
	}
	one.Name = name
	return one.String()
}

// splitAddresses splits an address list (RFC 5322 3.4) that may violate the grammar: unquoted
// names, semicolons or blanks between addresses, unpaired quotes and angle brackets. Names of
// groups are left out.
func splitAddresses(value string) (list []address) {
	s := addressSplitter{}
	for i := 0; i < len(value) && len(s.list) <= maxAddresses; {
		i = s.next(value, i)
	}
	s.flush()
	return s.list
}

type addressSplitter struct {
	list    []address
	phrase  strings.Builder
	comment string // name in an old form: ann@example.com (Ann)
	spec    string
	angle   bool // spec was in angle brackets
	at      bool // the phrase has an @ outside of quotes
	// unpaired: a quote has no end, so quotes are ignored from there.
	unpaired bool
}

// next reads what begins at an index and returns its end.
func (s *addressSplitter) next(value string, i int) int {
	switch c := value[i]; c {
	case '"':
		if s.unpaired {
			break
		}
		return s.quoted(value, i)
	case '(':
		return s.comments(value, i)
	case '<':
		if s.angle {
			s.flush()
		}
		end := strings.IndexAny(value[i+1:], "<>")
		if end < 0 {
			end = len(value) - i - 1
		}
		s.spec, s.angle = value[i+1:i+1+end], true
		if i += 1 + end; i < len(value) && value[i] == '>' {
			i++
		}
		return i
	case ',', ';':
		s.flush()
	case ':':
		if !s.at && !s.angle { // the name of a group, or mailto:
			s.phrase.Reset()
			break
		}
		s.phrase.WriteByte(c)
	default:
		s.at = s.at || c == '@'
		s.phrase.WriteByte(c)
	}
	return i + 1
}

// quoted reads a quoted string. A quote without an end is ignored.
func (s *addressSplitter) quoted(value string, i int) int {
	var b strings.Builder
	for j := i + 1; j < len(value); j++ {
		switch c := value[j]; {
		case c == '"':
			s.phrase.WriteString(b.String())
			return j + 1
		case c == '\\' && j+1 < len(value):
			j++
			b.WriteByte(value[j])
		default:
			b.WriteByte(c)
		}
	}
	s.unpaired = true
	return i + 1
}

// comments reads a comment with its nested ones. Without an end it is the rest.
func (s *addressSplitter) comments(value string, i int) int {
	depth := 0
	for j := i; j < len(value); j++ {
		switch value[j] {
		case '\\':
			j++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				s.comment = value[i+1 : j]
				return j + 1
			}
		}
	}
	s.comment = value[i+1:]
	return len(value)
}

// flush ends an address.
func (s *addressSplitter) flush() {
	phrase := strings.TrimSpace(s.phrase.String())
	switch {
	case s.angle:
		a := address{name: phrase, spec: withoutRoute(strings.Join(strings.Fields(s.spec), ""))}
		if a.name == "" {
			a.name = s.comment
		}
		if a.name != "" || a.spec != "" {
			s.list = append(s.list, a)
		}
	case s.at:
		words := strings.Fields(phrase)
		n := len(s.list)
		for _, w := range words {
			if strings.Contains(w, "@") && len(s.list) <= maxAddresses {
				s.list = append(s.list, address{spec: strings.Trim(w, "'[]>")})
			}
		}
		if len(s.list) == n+1 {
			s.list[n].name = s.comment
		}
	case phrase != "":
		s.list = append(s.list, address{name: phrase})
	}
	*s = addressSplitter{list: s.list, unpaired: s.unpaired}
}

// withoutRoute removes a source route (RFC 5322 4.4).
func withoutRoute(spec string) string {
	if strings.HasPrefix(spec, "@") {
		if _, after, ok := strings.Cut(spec, ":"); ok {
			return after
		}
	}
	if len(spec) > len("mailto:") && strings.EqualFold(spec[:len("mailto:")], "mailto:") {
		return spec[len("mailto:"):]
	}
	return spec
}
