package dnstest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"mailer/app/rules/dnsplan"
)

// hetznerAPI is a stand-in of the DNS part of Hetzner's Cloud API. Actions are done when they are
// looked at.
type hetznerAPI struct{ z *Zone }

type hetznerRecord struct {
	Value   string `json:"value"`
	Comment string `json:"comment"`
}

type hetznerSet struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	TTL     *int            `json:"ttl"`
	Records []hetznerRecord `json:"records"`
}

func hetznerFails(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, map[string]any{"error": map[string]any{"code": code, "message": message}})
}

func (a hetznerAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	rest, inZone := strings.CutPrefix(path, "/zones/42/rrsets")
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	meta := func(last int) map[string]any {
		return map[string]any{"pagination": map[string]int{"page": page, "last_page": last}}
	}
	switch {
	case a.z.limited:
		w.Header().Set("Retry-After", "7")
		hetznerFails(w, 429, "rate_limit_exceeded", "limit "+token)
	case token != Token:
		hetznerFails(w, 401, "unauthorized", "unable to authenticate "+token)
	case path == "/zones" && page == 1:
		_ = json.MarshalWrite(w, map[string]any{"zones": []any{map[string]any{"id": 41, "name": "example.net"}}, "meta": meta(2)})
	case path == "/zones" && page == 2:
		_ = json.MarshalWrite(w, map[string]any{"zones": []any{map[string]any{"id": 42, "name": a.z.name, "mode": "primary"}}, "meta": meta(2)})
	case path == "/actions/7":
		_ = json.MarshalWrite(w, map[string]any{"action": map[string]any{"id": 7, "status": "success", "error": nil}})
	case !inZone:
		hetznerFails(w, 404, "not_found", "zone not found")
	case rest == "":
		sets := a.sets(r.URL.Query().Get("name"))
		_ = json.MarshalWrite(w, map[string]any{"rrsets": sets[min(page-1, len(sets)):min(page, len(sets))], "meta": meta(len(sets))})
	default:
		a.set(w, r, strings.Split(strings.TrimPrefix(rest, "/"), "/"))
	}
}

// label returns a name relative to the zone.
func (a hetznerAPI) label(name string) string {
	if name == a.z.name {
		return "@"
	}
	return strings.TrimSuffix(name, "."+a.z.name)
}

func hetznerValue(r dnsplan.Record) string {
	switch r.Type {
	case "TXT":
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.Value) + `"`
	case "MX":
		return fmt.Sprintf("%d %s.", r.Priority, r.Value)
	case "CNAME", "NS":
		return r.Value + "."
	}
	return r.Value
}

func (a hetznerAPI) sets(label string) (out []hetznerSet) {
	for _, r := range a.z.records {
		if a.label(r.Name) != label {
			continue
		}
		i := slices.IndexFunc(out, func(s hetznerSet) bool { return s.Type == r.Type })
		if i < 0 {
			out = append(out, hetznerSet{ID: label + "/" + r.Type, Name: label, Type: r.Type})
			i = len(out) - 1
		}
		out[i].Records = append(out[i].Records, hetznerRecord{hetznerValue(r), "note of " + r.ID})
	}
	return out
}

// set serves a set: parts are label and type, and perhaps "actions" and the action.
func (a hetznerAPI) set(w http.ResponseWriter, r *http.Request, parts []string) {
	sets := a.sets(parts[0])
	i := slices.IndexFunc(sets, func(s hetznerSet) bool { return len(parts) > 1 && s.Type == parts[1] })
	if r.Method == http.MethodGet {
		if i < 0 {
			hetznerFails(w, 404, "not_found", "rrset not found")
			return
		}
		_ = json.MarshalWrite(w, map[string]any{"rrset": sets[i]})
		return
	}
	var body struct {
		Records []hetznerRecord `json:"records"`
	}
	if len(parts) != 4 || parts[2] != "actions" || json.UnmarshalRead(r.Body, &body) != nil {
		hetznerFails(w, 422, "invalid_input", "invalid input")
		return
	}
	if !a.z.mayWrite() {
		hetznerFails(w, 422, "invalid_input", "not that")
		return
	}
	name := parts[0] + "." + a.z.name
	of := func(v hetznerRecord) func(dnsplan.Record) bool {
		return func(r dnsplan.Record) bool {
			return r.Name == name && r.Type == parts[1] && (v.Value == "" || hetznerValue(r) == v.Value)
		}
	}
	switch parts[3] {
	case "set_records":
		if slices.ContainsFunc(body.Records, func(r hetznerRecord) bool { return r.Comment == "" }) {
			hetznerFails(w, 422, "invalid_input", "a comment is lost")
			return
		}
		a.z.records = slices.DeleteFunc(a.z.records, of(hetznerRecord{}))
	case "remove_records":
		for _, v := range body.Records {
			a.z.records = slices.DeleteFunc(a.z.records, of(v))
		}
		body.Records = nil
	}
	for _, v := range body.Records {
		a.z.add(hetznerParsed(name, parts[1], v.Value))
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.MarshalWrite(w, map[string]any{"action": map[string]any{"id": 7, "status": "running", "error": nil}})
}

func hetznerParsed(name, kind, value string) dnsplan.Record {
	out := dnsplan.Record{Name: name, Type: kind, Value: strings.TrimSuffix(value, ".")}
	switch kind {
	case "TXT":
		out.Value = unquoted(value)
	case "MX":
		priority, host, _ := strings.Cut(out.Value, " ")
		out.Priority, _ = strconv.Atoi(priority)
		out.Value = host
	}
	return out
}
