package web

import (
	"context"
	"net"
	"net/http"
	"strconv"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/smtp/submission"
)

// smtpRecord tells programs how to send mail over SMTP.
type smtpRecord struct {
	Object string     `json:"object" enum:"smtp"`
	Host   string     `json:"host" doc:"By which programs elsewhere reach it; those at a port of the loopback address run on the same machine"`
	User   string     `json:"user" doc:"Any user name is accepted; the password is an API key that may send"`
	Ports  []smtpPort `json:"ports" doc:"None: the server takes no mail by SMTP"`
	Size   int        `json:"size" doc:"The largest message, in bytes"`
}

type smtpPort struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
	Local   bool   `json:"local" doc:"Only programs on the server's machine reach it"`
	TLS     string `json:"tls" enum:"implicit,starttls,none"`
}

type smtpOutput struct{ Body smtpRecord }

// smtpRoutes is the route of the SMTP settings.
type smtpRoutes struct {
	base  string
	ports [][2]string
}

// Add adds the route to a handler.
func (r smtpRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-smtp", Method: http.MethodGet, Path: "/smtp",
		Summary: "Get the host, ports and sign-in of the SMTP server for sending", Tags: keyTags,
	}, r.get)
}

func (r smtpRoutes) get(context.Context, *app.Key, *struct{}) (*smtpOutput, error) {
	out := smtpRecord{Object: "smtp", Host: submission.HostOf(r.base), User: "mailer", Ports: []smtpPort{}, Size: submission.MaxMessage}
	for _, p := range r.ports {
		host, port, err := net.SplitHostPort(p[0])
		if err != nil { // listeners have valid addresses
			continue
		}
		n, _ := strconv.Atoi(port)
		ip := net.ParseIP(host)
		out.Ports = append(out.Ports, smtpPort{Address: p[0], Port: n, Local: ip != nil && ip.IsLoopback(), TLS: p[1]})
	}
	return &smtpOutput{out}, nil
}
