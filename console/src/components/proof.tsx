// Asks an admin for a code of their authenticator, which counts for some minutes. The requests that need it wait until
// then.
import { call } from '../api';
import { t } from '../messages';
import { proving } from '../session';
import { FormDialog } from './form';

export function Proof() {
  const done = proving.value;
  if (!done) return null;
  return (
    <FormDialog<{ totp_code: string }>
      title={t.admin.prove}
      action={t.admin.go_on}
      onClose={() => done(false)}
      fields={[{ name: 'totp_code', label: t.admin.code, autocomplete: 'one-time-code', errors: ['invalid_totp'] }]}
      run={async (body) => {
        await call('post', '/api/auth/step-up', { body });
        done(true);
      }}>
      <p class="soft">{t.admin.prove_text}</p>
    </FormDialog>
  );
}
