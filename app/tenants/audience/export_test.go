package audience

import (
	"context"

	"mailer/app/base"
	"mailer/app/rules/contactfile"
)

// Exports for the external tests of this package.

const (
	ImportPiece         = importPiece
	ImportRows          = importRows
	MaxImportFailures   = maxImportFailures
	ImportYield         = importYield
	MaxOpenImports      = maxOpenImports
	MaxScans            = maxScans
	MaxOptInsPerAddress = maxOptInsPerAddress
	MaxOptInsPerClient  = maxOptInsPerClient
)

var (
	ErrErasing = errErasing
	ErrGone    = errGone
)

// OpenImports returns how many files are open. The importer must be idle.
func (s *Imports) OpenImports() int { return len(s.imports.runs) }

func (s *Service) Scans() *base.TeamSemaphore { return s.scans }

func (s *Imports) RunImports(ctx context.Context) { s.runImports(ctx) }

type ImportRun = importRun

// NewImportRun returns the run of an import without rows.
func NewImportRun(s *Imports, i contactfile.Import) *importRun { return &importRun{s: s, imp: i} }

func (run *importRun) S() *Imports { return run.s }

func (run *importRun) I() *contactfile.Import { return &run.imp }

// Open opens the file and skips the rows that are done.
func (run *importRun) Open(ctx context.Context) error { return run.open(ctx) }

func (run *importRun) Read() (batch importBatch, err error) { return run.read() }

func (run *importRun) Write(ctx context.Context, batch importBatch) error {
	run.batch = &batch
	return run.write(ctx)
}

// Step processes one batch, as the importer does.
func (run *importRun) Step(ctx context.Context) error { return run.step(ctx) }
