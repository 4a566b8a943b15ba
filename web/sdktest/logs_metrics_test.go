package sdktest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// logThing is a request, or a list of them.
type logThing struct {
	Object, ID, Endpoint, Method, Error string
	ResponseStatus                      int    `json:"response_status"`
	UserAgent                           string `json:"user_agent"`
	EmailID                             string `json:"email_id"`
	Data                                []logThing
}

// metricsThing is an answer about figures.
type metricsThing struct {
	Object string
	Totals map[string]float64
	Data   []map[string]any
}

func (c client) logs(t *testing.T, query string) (list logThing) {
	t.Helper()
	must(t, json.Unmarshal(c.ask(t, "GET", "/logs"+query, nil, 200), &list))
	return list
}

// TestMetricsAndLogs sends to test recipients and looks at the figures and at the
// log of requests, by HTTP and by every official client; then what an erased address
// leaves there.
func TestMetricsAndLogs(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	var ids []string
	for i, to := range []string{"delivered", "delivered", "bounced", "complained", "suppressed", "delayed"} {
		ids = append(ids, api.send(t, map[string]any{"from": "a@example.test", "to": to + "@resend.dev", "subject": fmt.Sprint(i), "text": "t"}))
	}
	api.ask(t, "POST", "/emails", map[string]any{"from": "a@example.test"}, 422)
	var m metricsThing
	eventually(t, time.Minute, "all is counted", func() (bool, string) {
		m = metricsThing{}
		must(t, json.Unmarshal(api.ask(t, "GET", "/emails/metrics", nil, 200), &m))
		return m.Totals["sent"]+m.Totals["suppressed"] == 6, fmt.Sprint(m.Totals)
	})
	for name, want := range map[string]float64{"delivered": 2, "bounced": 1, "bounced_permanent": 1, "complained": 1, "suppressed": 1, "delivery_delayed": 1,
		"sent": 5, "failed": 0, "received": 0, "delivery_rate": 0.4, "bounce_rate": 0.2} {
		if got, there := m.Totals[name]; !there || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	api.ask(t, "GET", "/emails/metrics?dimensions=email&metrics=bounced&email_id="+ids[2], nil, 200, `"email_id":"`+ids[2]+`"`, `"bounced":1`)
	var list logThing
	eventually(t, time.Minute, "the requests are written down", func() (bool, string) {
		list = api.logs(t, "?method=POST&endpoint=/emails")
		return len(list.Data) == 7, fmt.Sprint(len(list.Data))
	})
	if refused := list.Data[0]; refused.ResponseStatus != 422 || refused.Error != "validation_error" || list.Data[1].EmailID != ids[5] || list.Data[1].ResponseStatus != 200 {
		t.Errorf("the requests are %+v", list.Data)
	}
	t.Run("clients", func(t *testing.T) { checkClientsFigures(t, in, api, ids[0]) })
	checkErasedRequests(t, api)
}

// checkClientsFigures asks with every official client.
func checkClientsFigures(t *testing.T, in *instance, api client, email string) {
	w := &fixture{in: in, key: api.key}
	t.Run("go", func(t *testing.T) { t.Parallel(); checkGoFigures(t, in, api.key, email) })
	t.Run("mcp", func(t *testing.T) {
		t.Parallel()
		needMCP(t)
		id := api.logs(t, "?limit=1&method=POST").Data[0].ID
		resendMCPAt(t, w).checkCalls(t, []toolCall{
			{"get-email-metrics", object("metrics", []string{"sent"}, "dimensions", []string{"email"}, "emailId", []string{email}), email, "", false},
			{"list-logs", object("limit", 100), "/emails", "", false}, {"get-log", object("logId", id), id, "", false},
		})
	})
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		needNode(t)
		var got struct {
			Metrics   metricsThing
			List, Log logThing
		}
		runNode(t, in.url, api.key, "figures.mjs", nil).into(t, &got)
		if m := got.Metrics; m.Totals["sent"] != 5 || len(m.Data) != 1 || m.Data[0]["domain_name"] != "example.test" || m.Data[0]["bounced"] != 1.0 {
			t.Errorf("figures %+v", m)
		}
		if len(got.List.Data) != 2 || got.Log.Object != "log" || got.Log.ID != got.List.Data[0].ID {
			t.Errorf("requests %+v, %+v", got.List, got.Log)
		}
	})
	t.Run("cli", func(t *testing.T) {
		t.Parallel()
		needNode(t)
		call := w.caller(t)
		var m metricsThing
		var list, log logThing
		call(&m, "emails", "metrics", "--dimensions", "domain", "--metrics", "sent")
		call(&list, "logs", "list", "--limit", "3")
		call(&log, "logs", "get", list.Data[0].ID)
		if m.Totals["sent"] != 5 || len(m.Data) != 1 || len(list.Data) != 3 || log.ID != list.Data[0].ID {
			t.Errorf("figures %+v, requests %+v, %+v", m, list, log)
		}
	})
}

func checkGoFigures(t *testing.T, in *instance, key, email string) {
	c, _ := v3Client(t, in.url, key)
	for _, ask := range []func() (*resendv3.MetricsResponse, error){
		c.Emails.Metrics, func() (*resendv3.MetricsResponse, error) { return c.Emails.MetricsWithContext(t.Context()) },
		func() (*resendv3.MetricsResponse, error) {
			return c.Emails.MetricsWithOptions(t.Context(), &resendv3.MetricsOptions{Dimensions: []string{"period", "domain"}, Metrics: []string{"sent", "bounced"}})
		},
	} {
		got, err := ask()
		must(t, err)
		if got.Object != "metrics" || got.Totals["sent"] != 5 {
			t.Errorf("figures %+v", got)
		}
		if got.Data != nil && (len(got.Data) != 1 || *got.Data[0].Sent != 5 || *got.Data[0].DomainName != "example.test") {
			t.Errorf("rows %+v", got.Data)
		}
	}
	link, err := c.Emails.Share(email, nil)
	must(t, err)
	brief, err := c.Emails.ShareWithContext(t.Context(), email, &resendv3.ShareEmailRequest{ExpiresIn: "10m"})
	must(t, err)
	if link.Id != email || !strings.HasPrefix(link.Url, in.url+"/shared/") || brief.Url == link.Url {
		t.Errorf("links %+v, %+v", link, brief)
	}
	limit := 2
	few, err := c.Logs.ListWithOptions(t.Context(), &resendv3.ListOptions{Limit: &limit})
	must(t, err)
	all, err := c.Logs.List()
	must(t, err)
	again, err := c.Logs.ListWithContext(t.Context())
	must(t, err)
	if len(few.Data) != 2 || !few.HasMore || len(all.Data) < 7 || len(again.Data) < 7 {
		t.Fatalf("lists of %d, %d and %d", len(few.Data), len(all.Data), len(again.Data))
	}
	one, err := c.Logs.Get(few.Data[0].Id)
	must(t, err)
	other, err := c.Logs.GetWithContext(t.Context(), few.Data[1].Id)
	must(t, err)
	if one.Id != few.Data[0].Id || other.Endpoint != few.Data[1].Endpoint || one.RequestBody != nil {
		t.Errorf("alone %+v, %+v", one, other)
	}
}

// checkErasedRequests looks for an erased address among the requests.
func checkErasedRequests(t *testing.T, api client) {
	const address = "gone+soon@example.com"
	api.ask(t, "POST", "/contacts", map[string]any{"email": address}, 201)
	for _, path := range []string{"/contacts/" + address, "/contacts/" + url.QueryEscape(address)} {
		api.ask(t, "GET", path, nil, 200)
	}
	eventually(t, time.Minute, "the requests are written down", func() (bool, string) {
		n := len(api.logs(t, "?endpoint=/contacts/").Data)
		return n == 2, fmt.Sprint(n)
	})
	api.ask(t, "DELETE", "/contacts/"+address+"?erase=true", nil, 200)
	api.ask(t, "GET", "/contacts/"+someID, nil, 404) // behind what was erased
	eventually(t, time.Minute, "the next request is written down", func() (bool, string) {
		list := api.logs(t, "?endpoint=/contacts/")
		return len(list.Data) == 1 && strings.HasSuffix(list.Data[0].Endpoint, someID), fmt.Sprint(list.Data)
	})
}

// TestRequestLogDisabled looks at the log of a server that keeps none.
func TestRequestLogDisabled(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t, "--request-log", "off")
	api := client{in.url, in.newKey(t)}
	api.ask(t, "GET", "/domains", nil, 200)
	api.ask(t, "GET", "/domains", nil, 200)
	in.stop(t)
	in.serve(t)
	if list := api.logs(t, ""); len(list.Data) != 0 {
		t.Errorf("kept are %+v", list.Data)
	}
}
