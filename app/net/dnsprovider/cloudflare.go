package dnsprovider

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/rules/dnsplan"
)

// cloudflare is a client of Cloudflare's API v4, after "List Zones" and "DNS Records for a Zone" of
// https://developers.cloudflare.com/api/ (read in November 2026). A token needs the permissions
// Zone: Read and DNS: Edit of the zone.
type cloudflare struct{ api }

// cloudflareTTL is the TTL that Cloudflare calls automatic.
const cloudflareTTL = 1

// Sizes of pages.
const (
	cloudflareZones   = 50
	cloudflareRecords = 100
)

type cloudflareRecord struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Name     string `json:"name,omitempty"`
	Content  string `json:"content"`
	Priority *int   `json:"priority,omitempty"`
	TTL      int    `json:"ttl,omitempty"`
	Proxied  *bool  `json:"proxied,omitempty"`
}

type cloudflarePages struct {
	TotalPages int `json:"total_pages"`
}

// cloudflareCode returns the first code of an error. Codes 6003 and 6111 are those of a token that
// is no token, with status 400.
func cloudflareCode(text []byte) (string, dnsplan.Failure) {
	var body struct {
		Errors []struct {
			Code  int `json:"code"`
			Chain []struct {
				Code int `json:"code"`
			} `json:"error_chain"`
		} `json:"errors"`
	}
	if json.Unmarshal(text, &body) != nil || len(body.Errors) == 0 {
		return "", ""
	}
	failure := dnsplan.Failure("")
	for _, e := range body.Errors {
		switch e.Code {
		case 6003, 6111, 9106, 9109, 10000:
			failure = dnsplan.FailedToken
		}
	}
	return strconv.Itoa(body.Errors[0].Code), failure
}

func (c *cloudflare) listZones(ctx context.Context) (zones []zone, err error) {
	for page := 1; page <= maxPages; page++ {
		var answer struct {
			Result []struct {
				ID   string `json:"id"`
				Name string `json:"name"`
			} `json:"result"`
			Info cloudflarePages `json:"result_info"`
		}
		query := url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(cloudflareZones)}}
		if err := c.call(ctx, http.MethodGet, "/zones", query, nil, &answer, "", cloudflareCode); err != nil {
			return nil, err
		}
		for _, z := range answer.Result {
			zones = append(zones, zone{z.ID, host(z.Name)})
		}
		if page >= answer.Info.TotalPages {
			break
		}
	}
	return zones, nil
}

// Zone implements dnsplan.Provider.
func (c *cloudflare) Zone(ctx context.Context, name string) (string, error) {
	z, err := c.zoneOf(ctx, name, c.listZones)
	return z.name, err
}

func (c *cloudflare) records(ctx context.Context, zoneName string) (string, error) {
	z, err := c.zoneOf(ctx, zoneName, c.listZones)
	return "/zones/" + url.PathEscape(z.id) + "/dns_records", err
}

// Records implements dnsplan.Provider.
func (c *cloudflare) Records(ctx context.Context, zoneName, name string) (out []dnsplan.Record, err error) {
	path, err := c.records(ctx, zoneName)
	if err != nil {
		return nil, err
	}
	for page := 1; page <= maxPages; page++ {
		var answer struct {
			Result []cloudflareRecord `json:"result"`
			Info   cloudflarePages    `json:"result_info"`
		}
		query := url.Values{"name.exact": {name}, "page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(cloudflareRecords)}}
		if err := c.call(ctx, http.MethodGet, path, query, nil, &answer, name, cloudflareCode); err != nil {
			return nil, err
		}
		for _, r := range answer.Result {
			if host(r.Name) == name {
				out = append(out, r.planned())
			}
		}
		if page >= answer.Info.TotalPages {
			break
		}
	}
	return out, nil
}

func (r *cloudflareRecord) planned() dnsplan.Record {
	out := dnsplan.Record{Name: host(r.Name), Type: r.Type, Value: r.Content, ID: r.ID}
	if r.Type == string(app.DNSText) {
		out.Value = joinText(r.Content)
	} else if isKnown(r.Type) {
		out.Value = host(r.Content)
	}
	if r.Priority != nil && r.Type == string(app.DNSMX) {
		out.Priority = *r.Priority
	}
	out.Proxied = r.Proxied != nil && *r.Proxied
	return out
}

// Apply implements dnsplan.Provider. Records never pass Cloudflare's proxy: it would answer with its
// own addresses.
func (c *cloudflare) Apply(ctx context.Context, zoneName string, change dnsplan.Change) error {
	path, err := c.records(ctx, zoneName)
	if err != nil {
		return err
	}
	if change.Action != dnsplan.Add && change.ID == "" {
		return c.fail(dnsplan.FailedChanged, change.Name, "")
	}
	at := path + "/" + url.PathEscape(change.ID)
	if change.Action == dnsplan.Remove {
		return c.call(ctx, http.MethodDelete, at, nil, nil, nil, change.Name, cloudflareCode)
	}
	body := cloudflareRecord{Type: change.Type, Name: change.Name, Content: change.After, Proxied: new(false)}
	switch change.Type {
	case string(app.DNSText):
		body.Content = quoteText(change.After)
	case string(app.DNSMX):
		body.Priority = new(change.Priority)
	}
	if change.Action == dnsplan.Replace { // its TTL stays
		return c.call(ctx, http.MethodPatch, at, nil, &body, nil, change.Name, cloudflareCode)
	}
	body.TTL = cloudflareTTL
	return c.call(ctx, http.MethodPost, path, nil, &body, nil, change.Name, cloudflareCode)
}
