package mail

import (
	"sync"
	"time"
)

// Limits of drafts in memory, in bytes of HTML and text.
const (
	maxKept     = 16 << 20
	maxTeamKept = 8 << 20
	// maxTeamDrafts is how many drafts of a team are kept.
	maxTeamDrafts = 32
)

// keptPreviews keeps drafts for previewTTL. Each team has its own limits and loses its own oldest
// drafts first. If the total limit is reached, the team with the most bytes loses its oldest draft.
// The zero value is ready to use.
type keptPreviews struct {
	mu    sync.Mutex
	teams map[string]*teamPreviews
	size  int
}

// teamPreviews are the drafts of a team, oldest first.
type teamPreviews struct {
	drafts []keptDraft
	size   int
}

type keptDraft struct {
	id    string
	shown *PreviewContent
	timer *time.Timer // removes the draft
}

func (d *keptDraft) size() int { return len(d.shown.HTML) + len(d.shown.Text) }

// keep keeps the content of a draft; false: it is too large.
func (k *keptPreviews) keep(teamID, id string, shown *PreviewContent) bool {
	d := keptDraft{id: id, shown: shown}
	n := d.size()
	if n > maxTeamKept {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.teams == nil {
		k.teams = map[string]*teamPreviews{}
	}
	for t := k.teams[teamID]; t != nil && (t.size+n > maxTeamKept || len(t.drafts) == maxTeamDrafts); t = k.teams[teamID] {
		k.drop(teamID, 0)
	}
	for k.size+n > maxKept {
		k.drop(k.largest(), 0)
	}
	t := k.teams[teamID]
	if t == nil {
		t = &teamPreviews{}
		k.teams[teamID] = t
	}
	d.timer = time.AfterFunc(previewTTL, func() { k.expire(teamID, id) })
	t.drafts = append(t.drafts, d)
	t.size += n
	k.size += n
	return true
}

// largest returns the team with the most bytes.
func (k *keptPreviews) largest() (teamID string) {
	maxSize := -1
	for id, t := range k.teams {
		if t.size > maxSize {
			teamID, maxSize = id, t.size
		}
	}
	return teamID
}

// drop removes a draft of a team.
func (k *keptPreviews) drop(teamID string, i int) {
	t := k.teams[teamID]
	d := t.drafts[i]
	d.timer.Stop()
	t.drafts = append(t.drafts[:i:i], t.drafts[i+1:]...)
	t.size -= d.size()
	k.size -= d.size()
	if len(t.drafts) == 0 {
		delete(k.teams, teamID)
	}
}

// expire removes an expired draft.
func (k *keptPreviews) expire(teamID, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.find(teamID, id); i >= 0 {
		k.drop(teamID, i)
	}
}

// find returns the index of a draft; -1: not kept.
func (k *keptPreviews) find(teamID, id string) int {
	if t := k.teams[teamID]; t != nil {
		for i := range t.drafts {
			if t.drafts[i].id == id {
				return i
			}
		}
	}
	return -1
}

// get returns the content of a draft; nil: no longer kept.
func (k *keptPreviews) get(teamID, id string) *PreviewContent {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.find(teamID, id); i >= 0 {
		return k.teams[teamID].drafts[i].shown
	}
	return nil
}
