// The field for the password of one's account, as a proof that it is oneself. berthd asks for it only if neither it nor
// a second factor was entered a short time ago.
import { t } from '../messages';

export const password_field = {
  name: 'password' as const,
  label: t.account.password,
  kind: 'password' as const,
  autocomplete: 'current-password',
  hint: t.account.proof_hint,
  errors: ['invalid_credentials', 'insufficient_user_authentication'],
};
