#pragma once

#include "api/gate/route.h"

// The handlers of the table of routes, by the file that defines them. Each one decodes the request,
// calls the domain once and encodes the result. Refusals are thrown as berth::Error.
namespace berth::api {

// accounts/handlers.cpp
Reply register_account(const Call& call, const Services& services);
Reply login(const Call& call, const Services& services);
Reply verify_email(db::Tx& tx, const Call& call, const Services& services);
Reply self_verify_email(db::Tx& tx, const Call& call, const Services& services);
Reply resend_verification(db::Tx& tx, const Call& call, const Services& services);
Reply logout(db::Tx& tx, const Call& call, const Services& services);
Reply list_sessions(db::Tx& tx, const Call& call, const Services& services);
Reply end_session(db::Tx& tx, const Call& call, const Services& services);
Reply me(db::Tx& tx, const Call& call, const Services& services);
Reply update_me(db::Tx& tx, const Call& call, const Services& services);
Reply delete_me(const Call& call, const Services& services);
Reply external_profile(db::Tx& tx, const Call& call, const Services& services);

// accounts/safety.cpp
Reply change_password(const Call& call, const Services& services);
Reply forgot_password(db::Tx& tx, const Call& call, const Services& services);
Reply reset_password(const Call& call, const Services& services);
Reply set_up_totp(db::Tx& tx, const Call& call, const Services& services);
Reply enable_totp(const Call& call, const Services& services);
Reply disable_totp(const Call& call, const Services& services);
Reply new_recovery_codes(const Call& call, const Services& services);

// accounts/admin.cpp
Reply list_users(db::Tx& tx, const Call& call, const Services& services);
Reply promote_user(db::Tx& tx, const Call& call, const Services& services);
Reply suspend_user(db::Tx& tx, const Call& call, const Services& services);
Reply reactivate_user(db::Tx& tx, const Call& call, const Services& services);
Reply rotate_session_key(const Call& call, const Services& services);

// apps/handlers.cpp
Reply create_app(db::Tx& tx, const Call& call, const Services& services);
Reply my_apps(db::Tx& tx, const Call& call, const Services& services);
Reply public_app(db::Tx& tx, const Call& call, const Services& services);
Reply request_scopes(db::Tx& tx, const Call& call, const Services& services);
Reply list_scope_requests(db::Tx& tx, const Call& call, const Services& services);
Reply withdraw_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply internal_scope_requests(db::Tx& tx, const Call& call, const Services& services);
Reply approve_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply reject_scope_request(db::Tx& tx, const Call& call, const Services& services);
Reply revoke_scopes(db::Tx& tx, const Call& call, const Services& services);
Reply promote_app(db::Tx& tx, const Call& call, const Services& services);
Reply suspend_app(db::Tx& tx, const Call& call, const Services& services);
Reply reactivate_app(db::Tx& tx, const Call& call, const Services& services);

// apps/operators.cpp
Reply rotate_secret(db::Tx& tx, const Call& call, const Services& services);
Reply list_operator_apps(db::Tx& tx, const Call& call, const Services& services);
Reply get_operator_app(db::Tx& tx, const Call& call, const Services& services);
Reply update_operator_app(db::Tx& tx, const Call& call, const Services& services);
Reply delete_operator_app(db::Tx& tx, const Call& call, const Services& services);
Reply list_operators(db::Tx& tx, const Call& call, const Services& services);
Reply get_operator(db::Tx& tx, const Call& call, const Services& services);

// oauth/connections.cpp
Reply list_connected_apps(db::Tx& tx, const Call& call, const Services& services);
Reply get_connected_app(db::Tx& tx, const Call& call, const Services& services);
Reply limit_connected_app(db::Tx& tx, const Call& call, const Services& services);
Reply disconnect_app(db::Tx& tx, const Call& call, const Services& services);

// apps/play_sessions.cpp
Reply session_heartbeat(db::Tx& tx, const Call& call, const Services& services);
Reply session_status(db::Tx& tx, const Call& call, const Services& services);
Reply refresh_session(db::Tx& tx, const Call& call, const Services& services);
Reply end_play_session(db::Tx& tx, const Call& call, const Services& services);

// items/avatars.cpp
Reply my_avatar(const Call& call, const Services& services);
Reply avatar_of(const Call& call, const Services& services);
Reply change_avatar(db::Tx& tx, const Call& call, const Services& services);
Reply equip_avatar(db::Tx& tx, const Call& call, const Services& services);

// items/cosmetics.cpp
Reply list_cosmetics(db::Tx& tx, const Call& call, const Services& services);
Reply my_cosmetics(db::Tx& tx, const Call& call, const Services& services);
Reply purchase_cosmetic(db::Tx& tx, const Call& call, const Services& services);
Reply give_cosmetic(db::Tx& tx, const Call& call, const Services& services);
Reply create_cosmetic(db::Tx& tx, const Call& call, const Services& services);
Reply change_cosmetic(db::Tx& tx, const Call& call, const Services& services);

// items/learning.cpp
Reply list_modules(db::Tx& tx, const Call& call, const Services& services);
Reply get_module(db::Tx& tx, const Call& call, const Services& services);
Reply report_progress(db::Tx& tx, const Call& call, const Services& services);
Reply get_learning_path(db::Tx& tx, const Call& call, const Services& services);
Reply choose_learning_path(db::Tx& tx, const Call& call, const Services& services);
Reply internal_modules(db::Tx& tx, const Call& call, const Services& services);
Reply create_module(db::Tx& tx, const Call& call, const Services& services);
Reply change_module(db::Tx& tx, const Call& call, const Services& services);

// social/handlers.cpp
Reply search_users(db::Tx& tx, const Call& call, const Services& services);
Reply get_user(db::Tx& tx, const Call& call, const Services& services);
Reply list_friends(db::Tx& tx, const Call& call, const Services& services);
Reply request_friend(db::Tx& tx, const Call& call, const Services& services);
Reply list_friend_requests(db::Tx& tx, const Call& call, const Services& services);
Reply accept_friend(db::Tx& tx, const Call& call, const Services& services);
Reply reject_friend(db::Tx& tx, const Call& call, const Services& services);
Reply withdraw_friend_request(db::Tx& tx, const Call& call, const Services& services);
Reply remove_friend(db::Tx& tx, const Call& call, const Services& services);
Reply list_blocks(db::Tx& tx, const Call& call, const Services& services);
Reply block_user(db::Tx& tx, const Call& call, const Services& services);
Reply unblock_user(db::Tx& tx, const Call& call, const Services& services);
Reply set_presence(db::Tx& tx, const Call& call, const Services& services);
Reply own_presence(db::Tx& tx, const Call& call, const Services& services);
Reply user_presence(db::Tx& tx, const Call& call, const Services& services);
Reply set_table_presence(db::Tx& tx, const Call& call, const Services& services);
Reply table_presence(db::Tx& tx, const Call& call, const Services& services);

// social/chat.cpp, and follow_channel() in social/chat_events.cpp
Reply list_channels(db::Tx& tx, const Call& call, const Services& services);
Reply open_channel(db::Tx& tx, const Call& call, const Services& services);
Reply join_channel(db::Tx& tx, const Call& call, const Services& services);
Reply leave_channel(db::Tx& tx, const Call& call, const Services& services);
Reply list_messages(db::Tx& tx, const Call& call, const Services& services);
Reply send_message(db::Tx& tx, const Call& call, const Services& services);
Reply follow_channel(const Call& call, const Services& services);
Reply chat_words(db::Tx& tx, const Call& call, const Services& services);
Reply set_chat_words(db::Tx& tx, const Call& call, const Services& services);
Reply delete_message(db::Tx& tx, const Call& call, const Services& services);

// oauth/handlers.cpp
Reply authorize(db::Tx& tx, const Call& call, const Services& services);
Reply token(db::Tx& tx, const Call& call, const Services& services);
Reply refresh_tokens(db::Tx& tx, const Call& call, const Services& services);
Reply verify_token(db::Tx& tx, const Call& call, const Services& services);
Reply introspect_token(db::Tx& tx, const Call& call, const Services& services);
Reply revoke_token(db::Tx& tx, const Call& call, const Services& services);

// points/handlers.cpp
Reply points_balance(db::Tx& tx, const Call& call, const Services& services);
Reply points_history(db::Tx& tx, const Call& call, const Services& services);
Reply transfer_points(db::Tx& tx, const Call& call, const Services& services);
Reply spend_points(db::Tx& tx, const Call& call, const Services& services);
Reply award_points(db::Tx& tx, const Call& call, const Services& services);
Reply app_balance(db::Tx& tx, const Call& call, const Services& services);
Reply operator_analytics(db::Tx& tx, const Call& call, const Services& services);

// deployments/tiers.cpp
Reply list_tiers(db::Tx& tx, const Call& call, const Services& services);
Reply internal_tiers(db::Tx& tx, const Call& call, const Services& services);
Reply create_tier(db::Tx& tx, const Call& call, const Services& services);
Reply change_tier(db::Tx& tx, const Call& call, const Services& services);

// deployments/handlers.cpp
Reply create_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply list_deployments(db::Tx& tx, const Call& call, const Services& services);
Reply get_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_status(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_logs(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_domain(db::Tx& tx, const Call& call, const Services& services);
Reply change_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply stop_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply restart_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply rollback_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply deployment_metrics(const Call& call, const Services& services);
Reply delete_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply sandbox_status(db::Tx& tx, const Call& call, const Services& services);

// deployments/events.cpp
Reply deployment_events(db::Tx& tx, const Call& call, const Services& services);

// deployments/container_logs.cpp
Reply container_log(const Call& call, const Services& services);

// deployments/webhooks.cpp
Reply list_webhooks(db::Tx& tx, const Call& call, const Services& services);
Reply create_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply change_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply rotate_webhook_secret(db::Tx& tx, const Call& call, const Services& services);
Reply delete_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply test_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply list_deliveries(db::Tx& tx, const Call& call, const Services& services);

// deployments/billing.cpp
Reply deployment_billing(db::Tx& tx, const Call& call, const Services& services);
Reply suspend_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply reactivate_deployment(db::Tx& tx, const Call& call, const Services& services);

// ads/campaigns.cpp
Reply create_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply list_campaigns(db::Tx& tx, const Call& call, const Services& services);
Reply get_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply change_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply cancel_campaign(db::Tx& tx, const Call& call, const Services& services);

// ads/handlers.cpp
Reply serve_ad(const Call& call, const Services& services);
Reply record_ad_event(db::Tx& tx, const Call& call, const Services& services);

// ads/market.cpp
Reply market_placements(db::Tx& tx, const Call& call, const Services& services);
Reply market_rates(db::Tx& tx, const Call& call, const Services& services);
Reply market_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply market_placement_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply market_packages(db::Tx& tx, const Call& call, const Services& services);
Reply list_purchases(db::Tx& tx, const Call& call, const Services& services);
Reply get_purchase(db::Tx& tx, const Call& call, const Services& services);
Reply buy_package(db::Tx& tx, const Call& call, const Services& services);
Reply market_segments(db::Tx& tx, const Call& call, const Services& services);
Reply create_own_segment(db::Tx& tx, const Call& call, const Services& services);
Reply market_campaigns(db::Tx& tx, const Call& call, const Services& services);
Reply create_market_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply campaign_analytics(db::Tx& tx, const Call& call, const Services& services);

// ads/campaign_placements.cpp
Reply list_campaign_placements(db::Tx& tx, const Call& call, const Services& services);
Reply place_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply change_campaign_placement(db::Tx& tx, const Call& call, const Services& services);
Reply remove_campaign_placement(db::Tx& tx, const Call& call, const Services& services);
Reply add_placement_segment(db::Tx& tx, const Call& call, const Services& services);

// ads/admin.cpp
Reply internal_placements(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_placement(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_placement(db::Tx& tx, const Call& call, const Services& services);
Reply internal_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply internal_packages(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_package(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_package(db::Tx& tx, const Call& call, const Services& services);
Reply internal_segments(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_segment(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_segment(db::Tx& tx, const Call& call, const Services& services);

// internal/handlers.cpp
Reply mint(db::Tx& tx, const Call& call, const Services& services);
Reply treasury(db::Tx& tx, const Call& call, const Services& services);
Reply ledger_audit(db::Tx& tx, const Call& call, const Services& services);
Reply audit_log(db::Tx& tx, const Call& call, const Services& services);
Reply outbox(db::Tx& tx, const Call& call, const Services& services);
Reply clock_state(const Call& call, const Services& services);
Reply advance_clock(const Call& call, const Services& services);
Reply list_orphans(const Call& call, const Services& services);
Reply backup(const Call& call, const Services& services);

// meta/handlers.cpp
Reply health(const Call& call, const Services& services);
Reply openapi_document(const Call& call, const Services& services);
Reply protected_resource(const Call& call, const Services& services);
Reply authorization_server(const Call& call, const Services& services);

}  // namespace berth::api
