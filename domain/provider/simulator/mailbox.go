package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	bolt "go.etcd.io/bbolt"
)

const mailsShown = 200

type mailboxView struct {
	Lead  string
	Mails []mail // newest first
}

func (s *Server) mailboxList(w http.ResponseWriter, _ *http.Request) {
	var v mailboxView
	err := s.db.View(func(tx *bolt.Tx) error {
		cursor := tx.Bucket([]byte(bMails)).Cursor()
		for k, data := cursor.Last(); k != nil && len(v.Mails) < mailsShown; k, data = cursor.Prev() {
			var row mail
			if err := json.Unmarshal(data, &row); err != nil {
				return fmt.Errorf("read mail: %w", err)
			}
			v.Mails = append(v.Mails, row)
		}
		return nil
	})
	if err != nil {
		s.unavailable(w, err)
		return
	}
	v.Lead = "Everything the shop sends ends here, newest first."
	if len(v.Mails) == mailsShown {
		v.Lead = fmt.Sprintf("The newest %d letters. All of them are in the ledger.", mailsShown)
	}
	s.render(w, http.StatusOK, "mailbox", v, "")
}

type letterView struct {
	Mail   mail
	Pieces []piece
}

// piece is a stretch of a letter's text; Link says that it is an address to click on.
type piece struct {
	Text string
	Link bool
}

var webAddress = regexp.MustCompile(`https?://[^\s<>"]+[^\s<>".,;:!?)\]]`)

func pieces(text string) (out []piece) {
	last := 0
	for _, at := range webAddress.FindAllStringIndex(text, -1) {
		out = append(out, piece{Text: text[last:at[0]]}, piece{Text: text[at[0]:at[1]], Link: true})
		last = at[1]
	}
	return append(out, piece{Text: text[last:]})
}

func (s *Server) mailboxShow(w http.ResponseWriter, r *http.Request) {
	var row mail
	var found bool
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		row, found, err = get[mail](tx, bMails, r.PathValue("id"))
		return err
	})
	switch {
	case err != nil:
		s.unavailable(w, err)
	case !found:
		s.render(w, http.StatusNotFound, "lost", "There is no such letter.", "")
	default:
		s.render(w, http.StatusOK, "letter", letterView{Mail: row, Pieces: pieces(row.Body)}, "")
	}
}
