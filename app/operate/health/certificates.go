package health

import (
	"cmp"
	"context"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/operate/certificates"
	"mailer/db"
)

// Certificate is a certificate of the server's listeners.
type Certificate struct {
	Host    string  `json:"host" doc:"Whom it is for, or the file that it comes from"`
	Until   *string `json:"until" format:"date-time" doc:"null: there is none yet"`
	Failure *string `json:"failure" doc:"Why there is no newer one; null: nothing went wrong"`
}

// maxCertificates is how many certificates are listed.
const maxCertificates = 100

// fillCertificates adds the certificates to the status.
func (s *Service) fillCertificates(ctx context.Context, out *Status) error {
	states, err := s.certs.States(ctx)
	if err != nil {
		return err
	}
	out.Certificates = []Certificate{}
	for i := range states {
		st := &states[i]
		if len(out.Certificates) < maxCertificates {
			c := Certificate{Host: st.Host, Until: app.FormatTimePtr(st.ExpiresAt)}
			if st.Failure != "" {
				c.Failure = &st.Failure
			}
			out.Certificates = append(out.Certificates, c)
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

// certificateFix is the fix if an authority refuses to sign.
const certificateFix = "Point the DNS record of the name to this server, open port 443 (or 80) to the internet, and allow the authority in its CAA records. With --tls-cert, put the new files in place. Then retry."

func judgeCertificate(st *db.CertificateState, now time.Time) Check {
	const name = "certificate"
	switch {
	case st.ExpiresAt.IsZero():
		return bad(name, "certificate_none", st.Host, "host", st.Host, "error", cmp.Or(st.Failure, "none was issued yet"))
	case !now.Before(st.ExpiresAt):
		return bad(name, "certificate_ended", st.Host, "host", st.Host, "at", app.FormatTime(st.ExpiresAt), "error", st.Failure)
	case !now.Before(st.LookAt):
		return bad(name, "certificate_ending", st.Host, "host", st.Host, "at", app.FormatTime(st.ExpiresAt), "error", st.Failure)
	case strings.HasPrefix(st.Failure, certificates.KeyExposed):
		return bad(name, "certificate_exposed", st.Host, "host", st.Host, "error", st.Failure)
	}
	return good(name, "certificate of %s is valid until %s", st.Host, st.ExpiresAt.Format(time.DateOnly))
}
