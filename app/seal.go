package app

import "mailer/app/kit/seal"

// Sealer encrypts stored secrets, and makes and reads the tokens and hashes of this package.
type Sealer struct{ *seal.Sealer }

// NewSealer returns a Sealer. The first key that is not retired encrypts.
func NewSealer(keys ...seal.MasterKey) (*Sealer, error) {
	s, err := seal.New(keys...)
	return &Sealer{s}, err
}

// AddressHash identifies an address of a team. It is a keyed hash, so that a database alone does
// not allow guessing addresses, and differs from team to team. It never changes.
type AddressHash [16]byte

// AddressHash returns the hash of an address of a team.
func (s *Sealer) AddressHash(teamID string, key AddressKey) AddressHash {
	message := make([]byte, 0, 128)
	message = append(append(append(message, teamID...), 0), key.text...)
	return AddressHash(s.AppendHash(message, "addresses", message)[len(message):])
}
