// Spring Security's OAuth client, https://spring.io/projects/spring-security: what oauth2Login() does for a browser.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.security.oauth2.client.authentication.OAuth2LoginAuthenticationToken;
import org.springframework.security.oauth2.client.endpoint.OAuth2RefreshTokenGrantRequest;
import org.springframework.security.oauth2.client.endpoint.RestClientAuthorizationCodeTokenResponseClient;
import org.springframework.security.oauth2.client.endpoint.RestClientRefreshTokenTokenResponseClient;
import org.springframework.security.oauth2.client.oidc.authentication.OidcAuthorizationCodeAuthenticationProvider;
import org.springframework.security.oauth2.client.oidc.userinfo.OidcUserService;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.ClientRegistrations;
import org.springframework.security.oauth2.client.registration.InMemoryClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizationRequestResolver;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizationRequestCustomizers;
import org.springframework.security.oauth2.core.OAuth2AuthenticationException;
import org.springframework.security.oauth2.core.endpoint.OAuth2AuthorizationExchange;
import org.springframework.security.oauth2.core.endpoint.OAuth2AuthorizationRequest;
import org.springframework.security.oauth2.core.endpoint.OAuth2AuthorizationResponse;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.util.UriComponentsBuilder;
import org.springframework.web.util.UriUtils;

class SpringClient {
  private static JsonNode app;

  private static void require(boolean condition, String what) {
    if (!condition) throw new AssertionError(what);
  }

  // Acts for the user, who is logged in and consents. Returns the parameters with which the browser comes back.
  private static Map<String, String> consent(String url) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer " + app.get("jwt").asText()).build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    require(answer.statusCode() == 200, answer.body());
    String target = new ObjectMapper().readTree(answer.body()).get("redirect_to").asText();
    Map<String, String> back = new HashMap<>();
    UriComponentsBuilder.fromUriString(target).build().getQueryParams().toSingleValueMap()
        .forEach((name, value) -> back.put(name, UriUtils.decode(value, StandardCharsets.UTF_8)));
    return back;
  }

  private static OAuth2LoginAuthenticationToken login(
      ClientRegistration client, OAuth2AuthorizationRequest asked, Map<String, String> back) {
    OAuth2AuthorizationResponse response =
        OAuth2AuthorizationResponse.success(back.get("code"))
            .redirectUri(asked.getRedirectUri())
            .state(back.get("state"))
            .build();
    var provider =
        new OidcAuthorizationCodeAuthenticationProvider(
            new RestClientAuthorizationCodeTokenResponseClient(), new OidcUserService());
    return (OAuth2LoginAuthenticationToken)
        provider.authenticate(
            new OAuth2LoginAuthenticationToken(client, new OAuth2AuthorizationExchange(asked, response)));
  }

  public static void main(String[] arguments) throws Exception {
    app = new ObjectMapper().readTree(Path.of(System.getenv("BERTH_APP")).toFile());
    ClientRegistration client =
        ClientRegistrations.fromIssuerLocation(System.getenv("BERTH_BASE"))
            .registrationId("berth")
            .clientId(app.get("client_id").asText())
            .clientSecret(app.get("client_secret").asText())
            .redirectUri(app.get("redirect_uri").asText())
            .scope("openid", "profile", "email")
            .build();
    var resolver =
        new DefaultOAuth2AuthorizationRequestResolver(
            new InMemoryClientRegistrationRepository(client), "/oauth2/authorization");
    resolver.setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce());
    var browser = new MockHttpServletRequest("GET", "/oauth2/authorization/berth");
    browser.setServletPath("/oauth2/authorization/berth");
    OAuth2AuthorizationRequest asked = resolver.resolve(browser);

    OAuth2LoginAuthenticationToken done = login(client, asked, consent(asked.getAuthorizationRequestUri()));
    OidcUser user = (OidcUser) done.getPrincipal();
    require("ada@example.org".equals(user.getEmail()), "email: " + user.getEmail());
    require("ada".equals(user.getPreferredUsername()), "name: " + user.getPreferredUsername());
    require(user.getUserInfo().getSubject().equals(user.getSubject()), "userinfo is somebody else's");

    var fresh =
        new RestClientRefreshTokenTokenResponseClient()
            .getTokenResponse(
                new OAuth2RefreshTokenGrantRequest(client, done.getAccessToken(), done.getRefreshToken()));
    require(
        !fresh.getRefreshToken().getTokenValue().equals(done.getRefreshToken().getTokenValue()),
        "the refresh token is the same");

    // The ID token isn't taken if it has another nonce.
    String other = asked.getAuthorizationRequestUri().replaceFirst("nonce=[^&]*", "nonce=another");
    try {
      login(client, asked, consent(other));
      throw new AssertionError("the answer to another request was taken");
    } catch (OAuth2AuthenticationException refused) {
      require("invalid_nonce".equals(refused.getError().getErrorCode()), refused.getError().toString());
      System.out.println("Spring Security: well");
    }
  }
}
