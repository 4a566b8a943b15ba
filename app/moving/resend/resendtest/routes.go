package resendtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// answer routes a request. Path segments are decoded separately, since an address may contain a
// slash.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		decoded, err := url.PathUnescape(part)
		if err != nil {
			notFound(w, "route")
			return
		}
		parts = append(parts, decoded)
	}
	if len(parts) == 2 && parts[0] == "emails" && parts[1] == "receiving" {
		page(w, r.URL.Query(), rows(s.Account.Received, func(v *Email) row { return row{v.ID, *v} }))
		return
	}
	switch len(parts) {
	case 1:
		s.list(w, r, parts[0])
	case 2:
		s.single(w, parts[0], parts[1])
	case 3:
		s.below(w, r, parts)
	default:
		notFound(w, "route")
	}
}

func notFound(w http.ResponseWriter, what string) {
	Refuse(w, http.StatusNotFound, "not_found", what+" not found")
}

// list answers with a top-level list.
func (s *Server) list(w http.ResponseWriter, r *http.Request, name string) {
	a, q := &s.Account, r.URL.Query()
	var all []row
	switch name {
	case "contact-properties":
		all = rows(a.Properties, func(v *Property) row { return row{v.ID, *v} })
	case "segments":
		all = segmentRows(a.Segments)
	case "audiences": // complete, without pages
		data := []any{}
		for _, r := range segmentRows(slices.Concat(a.Segments, a.Audiences)) {
			data = append(data, r.item)
		}
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": data})
		return
	case "topics":
		all = rows(a.Topics, func(v *Topic) row { return row{v.ID, *v} })
	case "contacts":
		all = s.contacts(q.Get("segment_id"))
	case "templates":
		all = rows(a.Templates, func(v *Template) row { return row{v.ID, v.TemplateRow} })
	case "broadcasts":
		all = rows(a.Broadcasts, func(v *Broadcast) row { return row{v.ID, v.BroadcastRow} })
	case "domains":
		all = rows(a.Domains, func(v *Domain) row { return row{v.ID, v.DomainRow} })
	case "webhooks":
		all = rows(a.Webhooks, func(v *Webhook) row { v.Secret = ""; return row{v.ID, *v} })
	case "api-keys":
		all = rows(a.Keys, func(v *Key) row { return row{v.ID, *v} })
	case "suppressions":
		origin := q.Get("origin")
		all = slices.DeleteFunc(rows(a.Suppressions, func(v *Suppression) row { return row{v.ID, *v} }), func(r row) bool {
			return origin != "" && r.item.(Suppression).Origin != origin
		})
	case "automations":
		all = rows(a.Automations, func(v *Automation) row { return row{v.ID, *v} })
	case "events":
		all = rows(a.Events, func(v *Event) row { return row{v.ID, *v} })
	case "emails":
		all = rows(a.Emails, func(v *Email) row { v.Object = "email"; return row{v.ID, *v} })
	default:
		notFound(w, "route")
		return
	}
	page(w, q, all)
}

func segmentRows(all []Segment) []row {
	return rows(all, func(v *Segment) row { v.Filter = nil; return row{v.ID, *v} })
}

// contacts returns the contacts of a segment, or all if segment is empty.
func (s *Server) contacts(segment string) []row {
	all := slices.DeleteFunc(slices.Clone(s.Account.Contacts), func(c Contact) bool { return segment != "" && !slices.Contains(c.Segments, segment) })
	return rows(all, func(v *Contact) row { v.Properties = nil; return row{v.ID, *v} })
}

func (s *Server) contact(id string) *Contact {
	at := slices.IndexFunc(s.Account.Contacts, func(c Contact) bool { return c.ID == id || c.Email == id })
	if at < 0 {
		return nil
	}
	return &s.Account.Contacts[at]
}

// find answers with the item that matches.
func find[T any](w http.ResponseWriter, what string, all []T, is func(*T) bool, full func(*T)) {
	for _, v := range all {
		if is(&v) {
			full(&v)
			reply(w, http.StatusOK, &v)
			return
		}
	}
	notFound(w, what)
}

// single answers with one object.
func (s *Server) single(w http.ResponseWriter, name, id string) {
	a := &s.Account
	switch name {
	case "contact-properties":
		find(w, "Contact property", a.Properties, func(v *Property) bool { return v.ID == id }, func(v *Property) { v.Object = "contact_property" })
	case "segments":
		find(w, "Segment", a.Segments, func(v *Segment) bool { return v.ID == id }, func(v *Segment) { v.Object = "segment" })
	case "audiences":
		find(w, "Audience", slices.Concat(a.Segments, a.Audiences), func(v *Segment) bool { return v.ID == id }, func(v *Segment) { v.Object = "audience"; v.Filter = nil })
	case "topics":
		find(w, "Topic", a.Topics, func(v *Topic) bool { return v.ID == id }, func(v *Topic) { v.Object = "topic" })
	case "contacts":
		find(w, "Contact", a.Contacts, func(v *Contact) bool { return v.ID == id || v.Email == id }, func(v *Contact) {
			if v.Object = "contact"; v.Properties == nil {
				v.Properties = map[string]Value{}
			}
		})
	case "templates":
		find(w, "Template", a.Templates, func(v *Template) bool { return v.ID == id || v.Alias != nil && *v.Alias == id }, func(v *Template) { v.Object = "template" })
	case "broadcasts":
		find(w, "Broadcast", a.Broadcasts, func(v *Broadcast) bool { return v.ID == id }, func(v *Broadcast) { v.Object = "broadcast" })
	case "domains":
		find(w, "Domain", a.Domains, func(v *Domain) bool { return v.ID == id }, func(v *Domain) { v.Object = "domain" })
	case "webhooks":
		find(w, "Webhook", a.Webhooks, func(v *Webhook) bool { return v.ID == id }, func(v *Webhook) { v.Object = "webhook" })
	case "suppressions":
		find(w, "Suppression", a.Suppressions, func(v *Suppression) bool { return v.ID == id || v.Email == id }, func(v *Suppression) { v.Object = "suppression" })
	default:
		notFound(w, "route")
	}
}

// below answers with a list that belongs to an object.
func (s *Server) below(w http.ResponseWriter, r *http.Request, parts []string) {
	name, id, list := parts[0], parts[1], parts[2]
	q := r.URL.Query()
	in := func(all []Segment) bool {
		return slices.ContainsFunc(all, func(g Segment) bool { return g.ID == id })
	}
	c := s.contact(id)
	switch {
	case name == "segments" && list == "contacts" && in(s.Account.Segments) && !s.ByQueryAlone,
		name == "audiences" && list == "contacts" && in(s.Account.Audiences):
		page(w, q, s.contacts(id))
	case name == "contacts" && list == "segments" && c != nil:
		page(w, q, segmentRows(slices.DeleteFunc(slices.Clone(s.Account.Segments), func(g Segment) bool { return !slices.Contains(c.Segments, g.ID) })))
	case name == "contacts" && list == "topics" && c != nil:
		page(w, q, rows(s.Account.Topics, func(t *Topic) row {
			subscription := t.Default
			if choice, ok := c.Choices[t.ID]; ok {
				subscription = choice
			}
			return row{t.ID, Choice{t.ID, t.Name, t.Description, subscription}}
		}))
	default:
		notFound(w, "route or item")
	}
}
