package dnsprovider

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/rules/dnsplan"
)

// hetzner is a client of the DNS part of Hetzner's Cloud API, after "Zones", "Zone RRSets" and "Zone
// RRSet Actions" of https://docs.hetzner.cloud/reference/cloud (read in November 2026). A token
// needs the permission Read & Write of the project.
type hetzner struct {
	api
	wait time.Duration // between looks at an action
}

const (
	hetznerPage = 50 // size of a page
	actionWait  = 500 * time.Millisecond
	actionLooks = 20
)

type hetznerMeta struct {
	Pagination struct {
		LastPage int `json:"last_page"`
	} `json:"pagination"`
}

type hetznerRecord struct {
	Value   string `json:"value"`
	Comment string `json:"comment,omitempty"`
}

type hetznerSet struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Records []hetznerRecord `json:"records"`
}

type hetznerAction struct {
	Action struct {
		ID     int64  `json:"id"`
		Status string `json:"status"`
		Error  struct {
			Code string `json:"code"`
		} `json:"error"`
	} `json:"action"`
}

// hetznerCode returns the code of an error.
func hetznerCode(text []byte) (string, dnsplan.Failure) {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &body) != nil {
		return "", ""
	}
	code := plainCode(body.Error.Code)
	switch code {
	case "unauthorized", "forbidden", "token_readonly":
		return code, dnsplan.FailedToken
	case "conflict", "locked":
		return code, dnsplan.FailedChanged
	}
	return code, ""
}

// plainCode returns a code of lower-case letters and underscores; empty: it is none.
func plainCode(code string) string {
	if len(code) > 60 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return code
}

func (h *hetzner) listZones(ctx context.Context) (zones []zone, err error) {
	for page := 1; page <= maxPages; page++ {
		var answer struct {
			Zones []struct {
				ID   int64  `json:"id"`
				Name string `json:"name"`
			} `json:"zones"`
			Meta hetznerMeta `json:"meta"`
		}
		if err := h.call(ctx, http.MethodGet, "/zones", pageQuery(page), nil, &answer, "", hetznerCode); err != nil {
			return nil, err
		}
		for _, z := range answer.Zones {
			zones = append(zones, zone{strconv.FormatInt(z.ID, 10), host(z.Name)})
		}
		if page >= answer.Meta.Pagination.LastPage {
			break
		}
	}
	return zones, nil
}

func pageQuery(page int) url.Values {
	return url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(hetznerPage)}}
}

// Zone implements dnsplan.Provider.
func (h *hetzner) Zone(ctx context.Context, name string) (string, error) {
	z, err := h.zoneOf(ctx, name, h.listZones)
	return z.name, err
}

// within returns a name relative to its zone, and the path of the zone's sets.
func (h *hetzner) within(ctx context.Context, zoneName, name string) (label, path string, err error) {
	z, err := h.zoneOf(ctx, zoneName, h.listZones)
	if err != nil {
		return "", "", err
	}
	label = "@"
	if name != z.name {
		label = strings.TrimSuffix(name, "."+z.name)
	}
	return label, "/zones/" + url.PathEscape(z.id) + "/rrsets", nil
}

// Records implements dnsplan.Provider.
func (h *hetzner) Records(ctx context.Context, zoneName, name string) (out []dnsplan.Record, err error) {
	label, path, err := h.within(ctx, zoneName, name)
	if err != nil {
		return nil, err
	}
	for page := 1; page <= maxPages; page++ {
		var answer struct {
			Sets []hetznerSet `json:"rrsets"`
			Meta hetznerMeta  `json:"meta"`
		}
		query := pageQuery(page)
		query.Set("name", label)
		if err := h.call(ctx, http.MethodGet, path, query, nil, &answer, name, hetznerCode); err != nil {
			return nil, err
		}
		for _, set := range answer.Sets {
			if !strings.EqualFold(set.Name, label) || set.Type == "SOA" {
				continue
			}
			for _, r := range set.Records {
				out = append(out, hetznerPlanned(name, zoneName, set.Type, r.Value))
			}
		}
		if page >= answer.Meta.Pagination.LastPage {
			break
		}
	}
	return out, nil
}

// hetznerPlanned returns a record. Its ID is the value as Hetzner has it. A host without a final dot
// is relative to the zone.
func hetznerPlanned(name, zoneName, kind, value string) dnsplan.Record {
	out := dnsplan.Record{Name: name, Type: kind, Value: value, ID: value}
	switch kind {
	case string(app.DNSText):
		out.Value = joinText(value)
	case string(app.DNSMX):
		priority, target, _ := strings.Cut(value, " ")
		out.Priority, _ = strconv.Atoi(priority)
		out.Value = absolute(strings.TrimSpace(target), zoneName)
	case string(app.DNSCNAME):
		out.Value = absolute(value, zoneName)
	}
	return out
}

func absolute(target, zoneName string) string {
	switch {
	case target == "@":
		return zoneName
	case strings.HasSuffix(target, "."):
		return host(target)
	}
	return host(target) + "." + zoneName
}

// hetznerValue returns a value as Hetzner's API has it.
func hetznerValue(c dnsplan.Change) string {
	switch c.Type {
	case string(app.DNSText):
		return quoteText(c.After)
	case string(app.DNSMX):
		return fmt.Sprintf("%d %s.", c.Priority, c.After)
	}
	return c.After + "."
}

// Apply implements dnsplan.Provider. A replacement sets the whole set as it was read immediately
// before, so that resolvers never see a set without either value.
func (h *hetzner) Apply(ctx context.Context, zoneName string, change dnsplan.Change) error {
	label, path, err := h.within(ctx, zoneName, change.Name)
	if err != nil {
		return err
	}
	path += "/" + url.PathEscape(label) + "/" + change.Type
	records, action := []hetznerRecord{{Value: hetznerValue(change)}}, "add_records"
	switch change.Action {
	case dnsplan.Remove:
		records[0].Value, action = change.ID, "remove_records"
	case dnsplan.Replace:
		action = "set_records"
		if records, err = h.replaced(ctx, path, change); err != nil {
			return err
		}
	}
	var answer hetznerAction
	body := map[string]any{"records": records}
	if err := h.call(ctx, http.MethodPost, path+"/actions/"+action, nil, body, &answer, change.Name, hetznerCode); err != nil {
		return err
	}
	return h.finish(ctx, &answer, change.Name)
}

// replaced returns the records of a set with one replaced.
func (h *hetzner) replaced(ctx context.Context, path string, change dnsplan.Change) ([]hetznerRecord, error) {
	var set struct {
		Set hetznerSet `json:"rrset"`
	}
	if err := h.call(ctx, http.MethodGet, path, nil, nil, &set, change.Name, hetznerCode); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(set.Set.Records, func(r hetznerRecord) bool { return r.Value == change.ID })
	if i < 0 {
		return nil, h.fail(dnsplan.FailedChanged, change.Name, "")
	}
	set.Set.Records[i].Value = hetznerValue(change)
	return set.Set.Records, nil
}

// finish waits until an action is done.
func (h *hetzner) finish(ctx context.Context, a *hetznerAction, name string) error {
	for range actionLooks {
		switch a.Action.Status {
		case "success":
			return nil
		case "error":
			return h.fail(dnsplan.FailedRefused, name, plainCode(a.Action.Error.Code))
		}
		timer := time.NewTimer(h.wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return h.unreachable(ctx, name, ctx.Err())
		}
		if err := h.call(ctx, http.MethodGet, "/actions/"+strconv.FormatInt(a.Action.ID, 10), nil, nil, a, name, hetznerCode); err != nil {
			return err
		}
	}
	return h.fail(dnsplan.FailedUnreachable, name, "the change is not finished yet")
}
