package app

import "mailer/app/kit/seal"

// Sealer keeps secrets at rest, and makes and reads the tokens and hashes of this
// package.
type Sealer struct{ *seal.Sealer }

// NewSealer takes master keys, of which the first that is not retired seals.
func NewSealer(keys ...seal.MasterKey) (*Sealer, error) {
	s, err := seal.New(keys...)
	return &Sealer{s}, err
}

// AddressHash stands for an address of a team. It is keyed, so that nobody
// without the seed can try addresses against a database, and different for each
// team. It is the same for ever.
type AddressHash [16]byte

// AddressHash returns the hash of an address of a team.
func (s *Sealer) AddressHash(teamID string, key AddressKey) AddressHash {
	message := make([]byte, 0, 128)
	message = append(append(append(message, teamID...), 0), key.text...)
	return AddressHash(s.AppendHash(message, "addresses", message)[len(message):])
}
