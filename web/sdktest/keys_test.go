package sdktest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// apiKey is any object of the routes of API keys.
type apiKey struct {
	Object     string  `json:"object"`
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Token      string  `json:"token"`
	CreatedAt  string  `json:"created_at"`
	LastUsedAt *string `json:"last_used_at"`
	Permission string  `json:"permission"`
	Role       string  `json:"role"`
	DomainID   *string `json:"domain_id"`
	Deleted    bool    `json:"deleted"`
}

type apiKeyList struct {
	Object  string   `json:"object"`
	HasMore bool     `json:"has_more"`
	Data    []apiKey `json:"data"`
}

func (l apiKeyList) names() (out []string) {
	for _, k := range l.Data {
		out = append(out, k.Name)
	}
	return out
}

func TestNodeClientAPIKeys(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientAPIKeys)
}

func nodeClientAPIKeys(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	var got struct {
		Domain, Full, Scoped, Renamed, Removed apiKey
		First, Rest, After                     apiKeyList
		Sent                                   struct{ ID string }
		Errors                                 map[string]apiError
	}
	runNode(t, w.in.url, w.key, "keys.mjs", map[string]string{"FROM": "a@example.test"}).into(t, &got)
	for _, k := range []apiKey{got.Full, got.Scoped} {
		if k.Object != "api_key" || k.ID == "" || len(k.Token) != 64 || !strings.HasPrefix(k.Token, "mlr_") {
			t.Errorf("created %+v", k)
		}
	}
	if !slices.Equal(got.First.names(), []string{"scoped", "full"}) || !got.First.HasMore || got.First.Object != "list" || len(got.Rest.Data) != 1 || got.Rest.HasMore {
		t.Errorf("lists %+v, %+v", got.First, got.Rest)
	}
	k := got.First.Data[0]
	if k.Token != "" || k.ID != got.Scoped.ID || k.CreatedAt == "" || k.LastUsedAt != nil || k.Permission != "sending_access" || k.DomainID == nil || *k.DomainID != got.Domain.ID {
		t.Errorf("listed %+v", k)
	}
	if got.Renamed.ID != got.Scoped.ID || got.Renamed.Object != "api_key" || !slices.Equal(got.After.names()[:2], []string{"renamed", "full"}) {
		t.Errorf("renamed %+v, then %q", got.Renamed, got.After.names())
	}
	if got.Removed.ID != got.Scoped.ID || !got.Removed.Deleted || got.Removed.Object != "api_key" {
		t.Errorf("removed %+v", got.Removed)
	}
	for name, want := range map[string]apiError{
		"otherDomain":  {StatusCode: 403, Name: "restricted_api_key"},
		"reads":        {StatusCode: 403, Name: "restricted_api_key"},
		"lists":        {StatusCode: 403, Name: "restricted_api_key"},
		"noName":       {StatusCode: 422, Name: "validation_error"},
		"badDomain":    {StatusCode: 404, Name: "not_found"},
		"needsSending": {StatusCode: 422, Name: "validation_error"},
		"revoked":      {StatusCode: 401, Name: "invalid_api_key"},
		"gone":         {StatusCode: 404, Name: "not_found"},
	} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || e.Name != want.Name {
			t.Errorf("%s: got %+v, want %+v", name, e, want)
		}
	}
	w.checkEnvelopes(t, "ann@example.com")
}

func TestGoV3ClientAPIKeys(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientAPIKeys)
}

func goV3ClientAPIKeys(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	c, seen := v3Client(t, w.in.url, w.key)
	domains, err := c.Domains.List()
	must(t, err)
	made, err := c.ApiKeys.Create(&resendv3.CreateApiKeyRequest{Name: "scoped", Permission: "sending_access", DomainId: domains.Data[0].Id})
	must(t, err)
	scoped, refused := v3Client(t, w.in.url, made.Token)
	mail := &resendv3.SendEmailRequest{From: "a@example.test", To: []string{"ann@example.com"}, Subject: "s", Text: "t"}
	_, err = scoped.Emails.Send(mail)
	must(t, err)
	if _, err := scoped.ApiKeys.List(); err == nil || refused.last.StatusCode != 403 || refused.last.Name != "restricted_api_key" {
		t.Errorf("list: %v, %+v", err, refused.last)
	}
	limit := 1
	list, err := c.ApiKeys.ListWithOptions(t.Context(), &resendv3.ListOptions{Limit: &limit})
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Id != made.Id || list.Data[0].Name != "scoped" || list.Data[0].CreatedAt == "" || !list.HasMore {
		t.Errorf("list %+v", list)
	}
	renamed, err := c.ApiKeys.Update(made.Id, &resendv3.UpdateApiKeyRequest{Name: "renamed"})
	must(t, err)
	if renamed.Id != made.Id || renamed.Object != "api_key" {
		t.Errorf("renamed %+v", renamed)
	}
	if ok, err := c.ApiKeys.Remove(made.Id); !ok || err != nil {
		t.Errorf("removed: %v, %v", ok, err)
	}
	if _, err := scoped.Emails.Send(mail); err == nil || refused.last.StatusCode != 401 || refused.last.Name != "invalid_api_key" {
		t.Errorf("send with a revoked key: %v, %+v", err, refused.last)
	}
	if _, err := c.ApiKeys.Update(made.Id, &resendv3.UpdateApiKeyRequest{Name: "x"}); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("renamed what is gone: %v, %+v", err, seen.last)
	}
}

func TestResendCommandLineAPIKeys(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineAPIKeys)
}

func resendCommandLineAPIKeys(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	cli := func(into any, args ...string) {
		t.Helper()
		out, err := runCLI(t, w, w.key, append([]string{"api-keys"}, args...)...)
		must(t, err)
		out.into(t, into)
	}
	var made, renamed, removed apiKey
	var list apiKeyList
	cli(&made, "create", "--name", "CI", "--permission", "sending_access")
	cli(&renamed, "update", made.ID, "--name", "CI v2")
	cli(&list, "list")
	if made.Token == "" || renamed.ID != made.ID || len(list.Data) != 2 || list.Data[0].Name != "CI v2" {
		t.Errorf("made %+v, renamed %+v, listed %+v", made, renamed, list)
	}
	cli(&removed, "delete", made.ID, "--yes")
	cli(&list, "list")
	if !removed.Deleted || removed.ID != made.ID || len(list.Data) != 1 {
		t.Errorf("removed %+v, left %+v", removed, list)
	}
}

// TestKeyRevokedByOperator asks over one connection while
// another process revokes the key.
func TestKeyRevokedByOperator(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	w := newFixture(t, &fixtureOptions{direct: true})
	var made apiKey
	status, body := client{w.in.url, w.key}.do(t, http.MethodPost, "/api-keys", map[string]any{"name": "short-lived"})
	if status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	nodeOutput(body).into(t, &made)
	c := client{w.in.url, made.Token}
	ask := func() int {
		status, _ := c.do(t, http.MethodGet, "/domains", nil)
		return status
	}
	if got := ask(); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	w.in.run(t, "keys", "revoke", made.ID)
	eventually(t, time.Minute, "the revoked key is refused", func() (bool, string) {
		status := ask()
		return status == http.StatusUnauthorized, fmt.Sprint(status)
	})
}
