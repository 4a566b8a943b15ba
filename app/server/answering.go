package server

import (
	"context"
	"fmt"
	"time"

	"mailer/app/sending/guardrails"
	"mailer/app/tenants/teams"
)

// Servers that share a database elsewhere all answer, by the same rules, and mail leaves
// through all of them. One leads: all else that happens by itself happens there. The first that
// finds nobody in the lead takes it.

// followEvery is how often a server reads at most how the one that leads is; reloadEvery is how
// often at most those who look at one are told to read again what another one changed.
const (
	followEvery = time.Second
	reloadEvery = 5 * time.Second
)

// Begin has s work, beside the server that leads if it is not the one.
func (s *Server) Begin(ctx context.Context) error {
	if s.DB.Cluster().Leads() {
		return s.Start(ctx)
	}
	s.Upkeep.StandAside()
	s.beside.Store(true)
	for _, step := range []func(context.Context) error{s.Delivery.MayCapture, s.Backup.HoldRestored, s.Changes.Load, s.FollowServer, s.Certificates.Answer, s.Routing.LoadBeside, s.Delivery.StartBeside} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.answers = make(chan struct{})
	s.Mail.Start()
	s.RequestLog.Start()
	s.Workers.Go(s.answer)
	return nil
}

// answer does what a server beside another one does, and takes over once it is to lead.
func (s *Server) answer() {
	defer close(s.answers)
	tick := time.NewTicker(teams.KeysFlushEvery)
	defer tick.Stop()
	var followed time.Time
	minute, judged := time.Now(), time.Now()
	for {
		select {
		case <-s.Taking.Done():
			return
		case <-s.DB.Cluster().Leading():
			if err := s.takeOver(); err != nil && s.Taking.Err() == nil {
				s.failed <- err
			}
			return
		case <-tick.C:
			s.tell("store when keys were used last", s.Teams.FlushKeys(s.Taking))
		}
		now := time.Now()
		if now.Sub(followed) >= followEvery {
			s.tell("follow the server that leads", s.FollowServer(s.Taking))
			followed = now
		}
		if now.Sub(judged) >= guardrails.Every {
			s.tell("follow the rates of teams and regions", s.Guardrails.Follow(s.Taking))
			judged = now
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
	s.Log.Info("this server leads from now on")
	s.Delivery.Outlets.Tell()
	if err := s.Start(s.Taking); err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	s.beside.Store(false)
	return nil
}

// Beside reports whether another server leads, and s works beside it.
func (s *Server) Beside() bool { return s.beside.Load() }

// Failed has the error of a server that was to take over and could not.
func (s *Server) Failed() <-chan error { return s.failed }

// heard is called once another server wrote.
func (s *Server) heard() {
	s.reload(time.Now())
	if s.beside.Load() {
		return
	}
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
