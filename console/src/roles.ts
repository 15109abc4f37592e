// What a member of an app may do: each role includes the ones before it.
import type { Choice } from './components/values';
import type { App } from './data';
import { t } from './messages';

export type Role = App['role'];
export const roles: readonly Role[] = ['viewer', 'billing', 'developer', 'admin', 'owner'];

export const includes = (own: Role, least: Role) => roles.indexOf(own) >= roles.indexOf(least);
export const may = (app: App | undefined, least: Role) => !!app && includes(app.role, least);
// Whether somebody with the role `own` may give the role `other`, take it away, and change members who have it.
export const may_manage = (own: Role, other: Role) => own === 'owner' || (own === 'admin' && !includes(other, 'owner'));
// Whether a member with the role may be limited to single deployments.
export const may_be_limited = (role: Role) => !includes(role, 'admin');

export const role_choices = (own: Role): Choice[] =>
  roles
    .filter((role) => may_manage(own, role))
    .map((role) => [role, t.roles.names[role], { lines: [t.roles.what[role]] }]);
