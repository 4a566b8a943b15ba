package certificates

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"time"
)

// stamp tells whether files changed: another file in the place of one counts too.
type stamp [2]os.FileInfo

// stampOf looks at the files; one that is not there is nil.
func (c *Config) stampOf() (now stamp) {
	for i, path := range []string{c.certFile, c.keyFile} {
		now[i], _ = os.Stat(path) // reading it says what is wrong
	}
	return now
}

func (s stamp) same(now stamp) bool {
	for i := range s {
		if s[i] == nil || now[i] == nil {
			if s[i] != now[i] {
				return false
			}
			continue
		}
		if !os.SameFile(s[i], now[i]) || !s[i].ModTime().Equal(now[i].ModTime()) || s[i].Size() != now[i].Size() {
			return false
		}
	}
	return true
}

// KeyExposed begins the failure of a certificate whose private key others can read.
const KeyExposed = "others can read the private key "

// exposed says that everybody on this machine can read or write the file of the private
// key; empty: nobody else can, or a group that its owner chose.
func (c *Config) exposed() string {
	info, err := os.Stat(c.keyFile)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return "" // reading it says what is wrong
	}
	return fmt.Sprintf("%s%s, whose mode is %04o", KeyExposed, c.keyFile, info.Mode().Perm())
}

// read takes up the pair of the files. Error: it is none, and the old one stays.
func (c *Config) read() error {
	c.seen = c.stampOf() // before: what changes while it is read is read again
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read %s with %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair.Store(&pair)
	return nil
}

// checkFileMode says that others can read the private key, until its mode is mended.
func (s *Service) checkFileMode() {
	now, before := s.cfg.exposed(), ""
	if st := s.at(s.cfg.certFile); st != nil && strings.HasPrefix(st.Failure, KeyExposed) {
		before = st.Failure
	}
	switch {
	case now == before:
	case now == "":
		s.renewed(s.cfg.certFile, s.cfg.pair.Load().Leaf)
	default:
		s.Log.Warn(now, "help", "chmod 600 "+s.cfg.keyFile+", and create a new key if others have accounts on this server")
		s.failed(s.cfg.certFile, now)
	}
}

// follow takes up files that changed, and says how their certificate is.
func (s *Service) follow() time.Duration {
	c := s.cfg
	if !c.seen.same(c.stampOf()) {
		if err := c.read(); err != nil {
			s.Log.Error("the certificate files changed and can't be used; the server keeps using its current certificate", "err", err)
			s.failed(c.certFile, err.Error())
		} else {
			s.Log.Info("took up the certificate of changed files", "file", c.certFile, "until", c.pair.Load().Leaf.NotAfter)
			s.renewed(c.certFile, c.pair.Load().Leaf)
		}
	} else if s.at(c.certFile) == nil {
		s.renewed(c.certFile, c.pair.Load().Leaf)
	}
	s.checkFileMode()
	s.warn()
	return fileCheckInterval
}
