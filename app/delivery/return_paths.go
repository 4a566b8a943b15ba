package delivery

import (
	"sync"
	"time"

	"mailer/app"
	"mailer/db"
)

// returnPathTTL is how long the return path host of a domain is used before the
// database is asked again.
// maxCachedHosts bounds the cache; above it, it is emptied.
const maxCachedHosts = 10_000

const returnPathTTL = 10 * time.Second

// returnPathHosts remembers where bounces of domains arrive.
type returnPathHosts struct {
	mu    sync.Mutex
	hosts map[string]cachedHost // by team and domain
}

type cachedHost struct {
	host string // empty: bounces of the domain do not come here
	at   time.Time
}

// emailReturnPath is returnPath of a transaction for open, those of an email's
// recipients that still wait.
func (l *lane) emailReturnPath(teamID string, email *app.Email, open []string) string {
	return l.returnPath(teamID, email.ID, email.From, func() (int, error) { return l.s.recipientNumber(email, open) })
}

// onlyRecipient is the number of a recipient who has the email for himself.
func onlyRecipient() (int, error) { return 0, nil }

// returnPath gives the envelope sender of a transaction: id is that of its email,
// or of its recipient in a broadcast, and number finds whom in its envelope it is
// for. It is a signed return path where bounces come to this server: the listener
// is on, the relay's provider does not want them itself, and
// app.Domain.TakesBounces. Everywhere else it is the From address, also when the
// database can't tell: mail goes before bounces.
func (l *lane) returnPath(teamID, id string, from app.Address, number func() (int, error)) string {
	if l.s.Settings.BounceHost == "" || l.s.Settings.Capture || l.relay.Needs().Feedback != "" {
		return from.Mailbox()
	}
	host, err := l.s.returnPathHost(teamID, from.Domain)
	if err != nil || host == "" {
		return from.Mailbox()
	}
	n, err := number()
	if err != nil {
		return from.Mailbox()
	}
	return l.s.Sealer.ReturnPath(host, app.ReturnPath{EmailID: id, Recipient: n})
}

// returnPathHost gives the host that bounces of a domain's mail go to; empty:
// they do not come here.
func (s *Service) returnPathHost(teamID, domain string) (string, error) {
	s.paths.mu.Lock()
	defer s.paths.mu.Unlock()
	cached, ok := s.paths.hosts[teamID+" "+domain]
	if ok && time.Since(cached.at) < returnPathTTL {
		return cached.host, nil
	}
	d, err := s.domains.DomainByName(s.Sending, teamID, domain)
	if err != nil {
		return "", err
	}
	host := ""
	if d.TakesBounces() {
		host = d.ReturnPathName()
	}
	if s.paths.hosts == nil || len(s.paths.hosts) >= maxCachedHosts {
		s.paths.hosts = map[string]cachedHost{}
	}
	s.paths.hosts[teamID+" "+domain] = cachedHost{host: host, at: time.Now()}
	return host, nil
}

// recipientNumber gives the number in the envelope of the one recipient that a
// transaction is for.
func (s *Service) recipientNumber(email *app.Email, open []string) (n int, err error) {
	switch {
	case len(open) != 1:
		return app.AllRecipients, nil
	case len(email.To)+len(email.Cc)+len(email.Bcc) == 1:
		return 0, nil
	}
	err = s.DB.Read(s.Sending, func(r *db.Reader) (err error) {
		n, err = r.RecipientNumber(email.ID, open[0])
		return err
	})
	return n, err
}
