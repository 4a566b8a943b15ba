package health

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/certificates"
	"mailer/app/clock"
	"mailer/db"
)

// Certificate is one of the server's own listeners.
type Certificate struct {
	Host    string  `json:"host" doc:"Whom it is for, or the file that it comes from"`
	Until   *string `json:"until" format:"date-time" doc:"null: there is none yet"`
	Failure *string `json:"failure" doc:"Why there is no newer one; null: nothing went wrong"`
}

// mostCertificates is how many of them are named.
const mostCertificates = 100

// needsOfCertificates says which end soon, and which could not be had.
func (s *Service) needsOfCertificates(ctx context.Context, out *Status) error {
	states, err := s.certs.States(ctx)
	if err != nil {
		return err
	}
	out.Certificates = []Certificate{}
	for i := range states {
		st := &states[i]
		if len(out.Certificates) < mostCertificates {
			c := Certificate{Host: st.Host, Until: app.FormatTimePtr(st.ExpiresAt)}
			if st.Failure != "" {
				c.Failure = &st.Failure
			}
			out.Certificates = append(out.Certificates, c)
		}
		if c := judgeCertificate(st, clock.Now()); !c.OK {
			out.need(c.Found, c.Fix)
		}
	}
	return nil
}

func (s *Service) checkCertificates(ctx context.Context) (checks []Check, err error) {
	states, err := s.certs.States(ctx)
	if err != nil {
		return nil, err
	}
	for i := range states {
		checks = append(checks, judgeCertificate(&states[i], clock.Now()))
	}
	return checks, nil
}

// certificateFix is what helps where an authority signs nothing.
const certificateFix = "point the name's DNS record to this server, make port 443 (or 80) reachable from the internet, and allow the authority in its CAA records; kill -HUP makes the server retry immediately; with --tls-cert, replace the files"

func judgeCertificate(st *db.CertificateState, now time.Time) Check {
	const name = "certificate"
	why := ""
	if st.Failure != "" {
		why = ": " + st.Failure
	}
	switch {
	case st.ExpiresAt.IsZero():
		return bad(name, fmt.Sprintf("%s has no certificate%s", st.Host, why), certificateFix)
	case !now.Before(st.ExpiresAt):
		return bad(name, fmt.Sprintf("certificate of %s expired on %s%s", st.Host, app.FormatTime(st.ExpiresAt), why), certificateFix)
	case !now.Before(st.LookAt):
		return bad(name, fmt.Sprintf("certificate of %s expires on %s and is not renewed%s", st.Host, app.FormatTime(st.ExpiresAt), why), certificateFix)
	case strings.HasPrefix(st.Failure, certificates.KeyExposed):
		return bad(name, fmt.Sprintf("certificate of %s is valid until %s%s", st.Host, st.ExpiresAt.Format(time.DateOnly), why), "chmod 600 the file of --tls-key, and create a new key if others have accounts on this server")
	}
	return good(name, "certificate of %s is valid until %s", st.Host, st.ExpiresAt.Format(time.DateOnly))
}
