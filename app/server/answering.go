package server

import (
	"context"
	"fmt"
	"time"

	"mailer/app/teams"
	"mailer/db"
)

// Of several servers that share a database elsewhere one works: mail leaves from there, and
// all else that happens by itself happens there. The others answer beside it, by the same
// rules, and the first that finds nobody at work takes over.

// followEvery is how often a server that answers reads at most how the one that works is;
// reloadEvery is how often at most those who look at one are told to read again what another
// one changed.
const (
	followEvery = time.Second
	reloadEvery = 5 * time.Second
)

// Begin has s work, or answer beside the server that works until TakenOver.
func (s *Server) Begin(ctx context.Context) error {
	if db.Works(s.DB) {
		return s.Start(ctx)
	}
	s.Delivery.Outlets.StandAside(true)
	s.Upkeep.StandAside()
	if err := s.FollowServer(ctx); err != nil {
		return err
	}
	if err := s.Certificates.Answer(ctx); err != nil {
		return err
	}
	s.answers = make(chan struct{})
	s.beside.Store(true)
	s.Mail.Start()
	s.RequestLog.Start()
	s.Workers.Go(s.answer)
	return nil
}

// answer does what a server beside another one does, and takes over once it is to work.
func (s *Server) answer() {
	defer close(s.answers)
	tick := time.NewTicker(teams.KeysFlushEvery)
	defer tick.Stop()
	var followed time.Time
	minute := time.Now()
	for {
		heard := false
		select {
		case <-s.Taking.Done():
			return
		case <-db.Working(s.DB):
			if err := s.takeOver(); err != nil && s.Taking.Err() == nil {
				s.failed <- err
			}
			return
		case <-db.Heard(s.DB):
			heard = true
		case <-tick.C:
			s.tell("store when keys were used last", s.Teams.FlushKeys(s.Taking))
		}
		now := time.Now()
		if heard {
			s.reload(now)
		}
		if now.Sub(followed) >= followEvery {
			s.tell("follow the server that works", s.FollowServer(s.Taking))
			followed = now
		}
		if now.Sub(minute) >= time.Minute {
			s.tell("do what is done each minute", s.Upkeep.DoAside(s.Taking))
			minute = now
		}
	}
}

func (s *Server) tell(what string, err error) {
	if err != nil && s.Taking.Err() == nil {
		s.LogUnlessHindered(what, err)
	}
}

func (s *Server) takeOver() error {
	s.Log.Info("this server works from now on")
	s.Settings.SetOutlets(s.outlets)
	s.Delivery.Outlets.StandAside(false)
	if err := s.Start(s.Taking); err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	s.beside.Store(false)
	return nil
}

// Beside reports whether another server works, and s answers beside it.
func (s *Server) Beside() bool { return s.beside.Load() }

// Failed has the error of a server that was to take over and could not.
func (s *Server) Failed() <-chan error { return s.failed }

// heard is called once another server wrote, by the one that works.
func (s *Server) heard() {
	s.reload(time.Now())
	s.tell("look for what another server wrote", s.Upkeep.Hear(s.Taking))
}

// reload has those who look at this server read again what another one changed.
func (s *Server) reload(now time.Time) {
	if now.Sub(s.reloaded) < reloadEvery {
		return
	}
	s.reloaded = now
	s.DB.Live().Reset()
}
