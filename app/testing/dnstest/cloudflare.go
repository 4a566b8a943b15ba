package dnstest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"mailer/app/rules/dnsplan"
)

// cloudflareAPI is a stand-in of Cloudflare's API v4 with two zones, one on each page.
type cloudflareAPI struct{ z *Zone }

type cloudflareRecord struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Name     string `json:"name"`
	Content  string `json:"content"`
	Priority *int   `json:"priority,omitempty"`
	TTL      int    `json:"ttl"`
	Proxied  bool   `json:"proxied"`
}

func cloudflareFails(w http.ResponseWriter, status, code int, message string) {
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, map[string]any{"success": false, "errors": []any{map[string]any{"code": code, "message": message}}, "result": nil})
}

func cloudflareAnswers(w http.ResponseWriter, result any, page, pages int) {
	_ = json.MarshalWrite(w, map[string]any{"success": true, "errors": []any{}, "result": result, "result_info": map[string]int{"page": page, "total_pages": pages}})
}

func (a cloudflareAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	path := strings.TrimPrefix(r.URL.Path, "/client/v4")
	rest, inZone := strings.CutPrefix(path, "/zones/z2/dns_records")
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	switch {
	case a.z.limited:
		w.Header().Set("Retry-After", "7")
		cloudflareFails(w, 429, 10429, "rate limited "+token)
	case strings.Contains(token, " "):
		cloudflareFails(w, 400, 6003, "Invalid request headers "+token)
	case token != Token:
		cloudflareFails(w, 403, 9109, "Invalid access token "+token)
	case r.Method == http.MethodGet && path == "/zones" && page == 1:
		cloudflareAnswers(w, []map[string]string{{"id": "z1", "name": "example.net"}}, 1, 2)
	case r.Method == http.MethodGet && path == "/zones" && page == 2:
		cloudflareAnswers(w, []map[string]string{{"id": "z2", "name": a.z.name}}, 2, 2)
	case !inZone:
		cloudflareFails(w, 404, 7003, "no such object")
	case r.Method == http.MethodGet:
		a.list(w, r.URL.Query().Get("name.exact"), page)
	case !a.z.mayWrite():
		cloudflareFails(w, 400, 9005, "Content is invalid "+token)
	default:
		a.write(w, r, strings.TrimPrefix(rest, "/"))
	}
}

// list answers with one record on each page.
func (a cloudflareAPI) list(w http.ResponseWriter, name string, page int) {
	var found []cloudflareRecord
	for _, r := range a.z.records {
		if r.Name != name || r.Type == "NS" && name == a.z.name {
			continue
		}
		out := cloudflareRecord{ID: r.ID, Type: r.Type, Name: r.Name, Content: r.Value, TTL: 300, Proxied: r.Proxied}
		if r.Type == "TXT" && strings.HasPrefix(r.Value, "v=") { // others have no quotation marks, like old records
			out.Content = `"` + r.Value[:min(len(r.Value), 255)] + `"`
			if len(r.Value) > 255 {
				out.Content += ` "` + r.Value[255:] + `"`
			}
		}
		if r.Type == "MX" {
			out.Priority = new(r.Priority)
		}
		found = append(found, out)
	}
	if page > len(found) {
		found, page = nil, 1
	}
	cloudflareAnswers(w, found[max(0, page-1):min(page, len(found))], page, max(1, len(a.z.recordsOf(name))))
}

func (z *Zone) recordsOf(name string) (out []dnsplan.Record) {
	for _, r := range z.records {
		if r.Name == name {
			out = append(out, r)
		}
	}
	return out
}

func (a cloudflareAPI) write(w http.ResponseWriter, r *http.Request, id string) {
	i := slices.IndexFunc(a.z.records, func(r dnsplan.Record) bool { return r.ID == id })
	if r.Method == http.MethodPost {
		var body cloudflareRecord
		if json.UnmarshalRead(r.Body, &body) != nil || body.TTL != 1 || body.Proxied {
			cloudflareFails(w, 400, 9207, "Request body is invalid.")
			return
		}
		cloudflareAnswers(w, map[string]string{"id": a.z.add(body.record()).ID}, 1, 1)
		return
	}
	if i < 0 {
		cloudflareFails(w, 404, 81044, "Record does not exist.")
		return
	}
	if r.Method == http.MethodDelete {
		a.z.records = slices.Delete(a.z.records, i, i+1)
	} else {
		var body cloudflareRecord
		if r.Method != http.MethodPatch || json.UnmarshalRead(r.Body, &body) != nil || body.TTL != 0 {
			cloudflareFails(w, 400, 9207, "Request body is invalid.")
			return
		}
		changed := body.record()
		a.z.records[i].Value, a.z.records[i].Priority = changed.Value, changed.Priority
	}
	cloudflareAnswers(w, map[string]string{"id": id}, 1, 1)
}

func (r *cloudflareRecord) record() dnsplan.Record {
	out := dnsplan.Record{Name: r.Name, Type: r.Type, Value: r.Content, Proxied: r.Proxied}
	if r.Type == "TXT" {
		out.Value = unquoted(r.Content)
	}
	if r.Priority != nil {
		out.Priority = *r.Priority
	}
	return out
}
