package server

import (
	"context"
	"fmt"
	"time"

	"mailer/app/sending/guardrails"
	"mailer/app/tenants/teams"
)

// Servers that share a PostgreSQL database all answer requests and send mail. One of them leads,
// and does everything else that runs in the background. If no server leads, the first one that
// notices takes over.

// followEvery is the shortest interval between two reads of the leader's settings; reloadEvery is
// the shortest interval between two resets of live listeners after changes by another server.
const (
	followEvery = time.Second
	reloadEvery = 5 * time.Second
)

// Begin starts s, as a follower if another server leads.
func (s *Server) Begin(ctx context.Context) error {
	if s.DB.Cluster().Leads() {
		return s.Start(ctx)
	}
	s.Jobs.FollowLeader()
	s.following.Store(true)
	for _, step := range []func(context.Context) error{s.Delivery.MayCapture, s.Backup.HoldRestored, s.RuntimeSettings.Load, s.FollowLeader, s.Certificates.RespondToChallenge, s.Relays.LoadFollower, s.Delivery.StartFollower} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.followerDone = make(chan struct{})
	s.Mail.Start()
	s.RequestLog.Start()
	s.Workers.Go(s.follow)
	return nil
}

// follow runs the periodic work of a follower, and takes over when s becomes the leader.
func (s *Server) follow() {
	defer close(s.followerDone)
	tick := time.NewTicker(teams.KeysFlushEvery)
	defer tick.Stop()
	var followed time.Time
	minute, judged := time.Now(), time.Now()
	for {
		select {
		case <-s.Claiming.Done():
			return
		case <-s.DB.Cluster().Leading():
			if err := s.takeOver(); err != nil && s.Claiming.Err() == nil {
				s.failed <- err
			}
			return
		case <-tick.C:
			s.logError("store when keys were used last", s.Teams.FlushKeys(s.Claiming))
		}
		now := time.Now()
		if now.Sub(followed) >= followEvery {
			s.logError("follow the server that leads", s.FollowLeader(s.Claiming))
			followed = now
		}
		if now.Sub(judged) >= guardrails.Every {
			s.logError("follow the rates of teams and regions", s.Guardrails.Follow(s.Claiming))
			judged = now
		}
		if now.Sub(minute) >= time.Minute {
			s.logError("do what is done each minute", s.Jobs.FollowerTasks(s.Claiming))
			minute = now
		}
	}
}

func (s *Server) logError(what string, err error) {
	if err != nil && s.Claiming.Err() == nil {
		s.LogUnlessUnavailable(what, err)
	}
}

func (s *Server) takeOver() error {
	s.Log.Info("this server leads from now on")
	s.Delivery.RelayQueues.Publish()
	if err := s.Start(s.Claiming); err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	s.following.Store(false)
	return nil
}

// Following reports whether another server leads.
func (s *Server) Following() bool { return s.following.Load() }

// Failed receives the error if taking over fails.
func (s *Server) Failed() <-chan error { return s.failed }

// onRemoteWrite is called after another server wrote.
func (s *Server) onRemoteWrite() {
	s.reload(time.Now())
	if s.following.Load() {
		return
	}
	s.logError("look for what another server wrote", s.Jobs.ReloadChanges(s.Claiming))
}

// reload makes live listeners of this server read again what another server changed.
func (s *Server) reload(now time.Time) {
	if now.Sub(s.reloadedAt) < reloadEvery {
		return
	}
	s.reloadedAt = now
	s.DB.Live().Reset()
}
