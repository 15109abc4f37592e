// go-oidc (https://github.com/coreos/go-oidc) with golang.org/x/oauth2, as Go programs log people in.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var app struct {
	JWT          string `json:"jwt"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RedirectURI  string `json:"redirect_uri"`
}

func require(condition bool, what string) {
	if !condition {
		log.Fatal(what)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// consent acts for the user, who is logged in and consents. It returns the parameters with which the
// browser comes back.
func consent(address string) url.Values {
	request := must(http.NewRequest(http.MethodGet, address, nil))
	request.Header.Set("Authorization", "Bearer "+app.JWT)
	answer := must(http.DefaultClient.Do(request))
	defer answer.Body.Close()
	var body struct {
		RedirectTo string `json:"redirect_to"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		log.Fatal(err)
	}
	require(answer.StatusCode == http.StatusOK, "consent: "+answer.Status)
	return must(url.Parse(body.RedirectTo)).Query()
}

func main() {
	log.SetFlags(0)
	if err := json.Unmarshal(must(os.ReadFile(os.Getenv("BERTH_APP"))), &app); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	provider := must(oidc.NewProvider(ctx, os.Getenv("BERTH_BASE")))
	client := oauth2.Config{
		ClientID:     app.ClientID,
		ClientSecret: app.ClientSecret,
		Endpoint:     provider.Endpoint(),
		RedirectURL:  app.RedirectURI,
		Scopes:       []string{oidc.ScopeOpenID, "profile", "email"},
	}
	verifier := oauth2.GenerateVerifier()
	nonce := oauth2.GenerateVerifier()
	back := consent(client.AuthCodeURL("some state", oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce)))
	require(back.Get("state") == "some state", "state came back as "+back.Get("state"))
	_, err := client.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	require(err != nil, "a code was given for another verifier")
	token := must(client.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier)))

	text, _ := token.Extra("id_token").(string)
	id := must(provider.Verifier(&oidc.Config{ClientID: app.ClientID}).Verify(ctx, text))
	require(id.Nonce == nonce, "the nonce differs")
	if err := id.VerifyAccessToken(token.AccessToken); err != nil {
		log.Fatal(err)
	}
	_, err = provider.Verifier(&oidc.Config{ClientID: "another"}).Verify(ctx, text)
	require(err != nil, "the ID token is valid for another client")
	var claims struct {
		Name string `json:"preferred_username"`
	}
	if err := id.Claims(&claims); err != nil {
		log.Fatal(err)
	}
	require(claims.Name == "ada", "preferred_username is "+claims.Name)
	user := must(provider.UserInfo(ctx, oauth2.StaticTokenSource(token)))
	require(user.Subject == id.Subject && user.Email == "ada@example.org" && user.EmailVerified, "userinfo differs")

	// A token source asks for new tokens when the access token is about to expire.
	expired := *token
	expired.Expiry = time.Now().Add(-time.Second)
	fresh := must(client.TokenSource(ctx, &expired).Token())
	require(fresh.RefreshToken != token.RefreshToken, "the refresh token is the same")
	text, _ = fresh.Extra("id_token").(string)
	again := must(provider.Verifier(&oidc.Config{ClientID: app.ClientID}).Verify(ctx, text))
	require(again.Subject == id.Subject, "the ID token of the refresh names somebody else")
	fmt.Println("go-oidc: well")
}
