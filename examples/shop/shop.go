// A shop whose customers pay with points: they log in with berth, see their balance and buy a shield, and berth tells the
// shop what happens to its app. It needs nothing but Go's own library:
//
//	BERTH_URL=https://berth.example.org BERTH_CLIENT_ID=… BERTH_CLIENT_SECRET=… go run shop.go
package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// [login]
var (
	berth        = os.Getenv("BERTH_URL")
	clientID     = os.Getenv("BERTH_CLIENT_ID")
	clientSecret = os.Getenv("BERTH_CLIENT_SECRET")
	port         = cmp.Or(os.Getenv("PORT"), "3000")
	callback     = "http://127.0.0.1:" + port + "/callback" // one of the app's redirect URIs
	client       = http.Client{Timeout: 10 * time.Second}
)

// Refusal is berth's answer to a request that it doesn't fulfil.
type Refusal struct {
	Status  int
	Message string
}

func (r Refusal) Error() string { return r.Message }

// ask sends a request to berth and decodes the answer.
func ask(request *http.Request, answer any) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		text, _ := io.ReadAll(response.Body)
		var why struct{ Error struct{ Message string } }
		_ = json.Unmarshal(text, &why)
		return Refusal{response.StatusCode, why.Error.Message}
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// loginAddress returns where to send the player's browser. It comes back to callback with code and state.
func loginAddress(state, verifier string) string {
	digest := sha256.Sum256([]byte(verifier))
	return berth + "/api/oauth/authorize?" + url.Values{
		"response_type":         {"code"},
		"client_id":             {clientID},
		"redirect_uri":          {callback},
		"scope":                 {"profile:read points:read points:spend"},
		"state":                 {state},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(digest[:])},
		"code_challenge_method": {"S256"},
	}.Encode()
}

// Tokens are what a player's consent gives.
type Tokens struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	SessionToken string `json:"session_token"`
}

func tokensFor(code, verifier string) (tokens Tokens, err error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback},
		"code_verifier": {verifier}}
	request, err := http.NewRequest("POST", berth+"/api/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return tokens, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(clientID, clientSecret)
	return tokens, ask(request, &tokens)
}

// [/login]

// [balance]
func balance(accessToken string) (int64, error) {
	request, err := http.NewRequest("GET", berth+"/api/external/points/balance", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+accessToken)
	var answer struct{ Points int64 }
	err = ask(request, &answer)
	return answer.Points, err
}

// [/balance]

// [spend]
// spend takes points from the player, once for each order, and returns how many the player has left.
func spend(accessToken string, amount int64, description, order string) (left int64, err error) {
	body, _ := json.Marshal(map[string]any{"amount": amount, "description": description})
	for attempt := range 3 {
		var request *http.Request
		request, err = http.NewRequest("POST", berth+"/api/external/points/spend", strings.NewReader(string(body)))
		if err != nil {
			return 0, err
		}
		request.Header.Set("Authorization", "Bearer "+accessToken)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", order)
		var answer struct{ Points int64 }
		err = ask(request, &answer)
		// 422, for example, says that the player has too few points, or set a limit. Where no answer came, nobody
		// knows whether the points were taken; with the same key, asking again is safe.
		var refusal Refusal
		final := errors.As(err, &refusal) && refusal.Status < 500 && refusal.Status != 429
		if err == nil || final {
			return answer.Points, err
		}
		time.Sleep(time.Second << attempt)
	}
	return 0, err
}

// [/spend]

// [webhook]
const tolerance = 5 * time.Minute

// Event is what berth sends to a webhook.
type Event struct {
	ID, Type string
	Data     json.RawMessage
}

// eventOf returns the event, or false if the request isn't from berth. The body is the bytes as they came.
func eventOf(header http.Header, body []byte) (event Event, genuine bool) {
	id, moment := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(moment, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return event, false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("BERTH_WEBHOOK_SECRET"), "whsec_"))
	if err != nil {
		return event, false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, moment, body)
	wanted := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(one), []byte(wanted)) {
			return event, json.Unmarshal(body, &event) == nil
		}
	}
	return event, false
}

// [/webhook]

type player struct{ state, verifier, token string }

var (
	mutex   sync.Mutex
	players = map[string]player{} // by cookie
	seen    = map[string]bool{}   // ids of events; one may come twice
)

func random() string {
	bytes := make([]byte, 32)
	_, _ = rand.Read(bytes)
	return base64.RawURLEncoding.EncodeToString(bytes)
}

// know sets a new cookie, by which the browser is known from now on.
func know(w http.ResponseWriter, one player) {
	cookie := random()
	mutex.Lock()
	players[cookie] = one
	mutex.Unlock()
	http.SetCookie(w, &http.Cookie{Name: "shop", Value: cookie, HttpOnly: true, SameSite: http.SameSiteLaxMode, Path: "/"})
}

func known(r *http.Request) player {
	cookie, err := r.Cookie("shop")
	if err != nil {
		return player{}
	}
	mutex.Lock()
	defer mutex.Unlock()
	return players[cookie.Value]
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

func main() {
	http.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		one := player{state: random(), verifier: random()}
		know(w, one)
		http.Redirect(w, r, loginAddress(one.state, one.verifier), http.StatusSeeOther)
	})
	http.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		one, query := known(r), r.URL.Query()
		if one.state == "" || query.Get("state") != one.state || !query.Has("code") {
			say(w, 400, "This login wasn't begun here, or you have refused.")
			return
		}
		tokens, err := tokensFor(query.Get("code"), one.verifier)
		if err != nil {
			say(w, 502, "berth didn't accept the login.")
			return
		}
		know(w, player{token: tokens.AccessToken})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	http.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		one := known(r)
		if one.token == "" {
			say(w, 200, "<a href=/login>Log in with berth</a>")
			return
		}
		points, err := balance(one.token)
		if err != nil {
			say(w, 502, "berth doesn't answer.")
			return
		}
		say(w, 200, fmt.Sprintf("You have %d points. <form method=post action=/buy>"+
			"<button name=order value=%s>Buy a shield for 5</button></form>", points, random()))
	})
	http.HandleFunc("POST /buy", func(w http.ResponseWriter, r *http.Request) {
		one, order := known(r), r.FormValue("order")
		if one.token == "" || order == "" {
			say(w, 403, "Log in first.")
			return
		}
		points, err := spend(one.token, 5, "A shield", order)
		if err != nil {
			say(w, 422, err.Error())
			return
		}
		say(w, 200, fmt.Sprintf("It is yours. You have %d points left.", points))
	})
	http.HandleFunc("POST /webhooks", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		event, genuine := eventOf(r.Header, body)
		if err != nil || !genuine {
			say(w, 400, "")
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		if !seen[event.ID] {
			seen[event.ID] = true
			fmt.Println("event:", event.Type)
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the shop is at http://127.0.0.1:" + port)
	log.Fatal(http.Serve(listener, nil))
}
