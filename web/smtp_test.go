package web

import (
	"strings"
	"testing"

	"mailer/app"
	"mailer/web/rest"
)

func TestSMTPSettings(t *testing.T) {
	t.Parallel()
	off := newTestAPI(t, captured())
	if w := off.as(off.full, "GET", "/smtp", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"ports":[]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	on := newTestAPI(t, captured(), func(c *Config, _ *rest.Limits) {
		c.Submission = [][2]string{{"[::]:587", "starttls"}, {"127.0.0.1:2525", "none"}}
	})
	member := on.key(on.team.ID, app.KeyInput{Permission: app.FullAccess, Role: app.RoleMember})
	const want = `"host":"mail.example.com","user":"mailer","ports":[{"address":"[::]:587","port":587,"local":false,"tls":"starttls"},` +
		`{"address":"127.0.0.1:2525","port":2525,"local":true,"tls":"none"}],"size":41943040`
	if w := on.as(member, "GET", "/smtp", ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
