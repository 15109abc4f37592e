// Asks an admin for a code of their authenticator, or for a passkey, which counts for some minutes. The requests that need
// it wait until then.
import { call } from '../api';
import { t } from '../messages';
import { has_passkeys, prove_by_passkey } from '../passkey';
import { me, proving } from '../session';
import { FormDialog } from './form';
import { note } from './notes';
import { Button, Dialog } from './ui';

function ByPasskey({ done }: { done: (proven: boolean) => void }) {
  const ask = () =>
    prove_by_passkey().then(
      () => done(true),
      () => note(t.admin.passkey_failed),
    );
  return (
    <div class="actions">
      <Button onClick={ask}>{t.admin.use_passkey}</Button>
    </div>
  );
}

export function Proof() {
  const done = proving.value;
  if (!done) return null;
  if (!me.value?.totp_enabled && has_passkeys())
    return (
      <Dialog title={t.admin.prove} onClose={() => done(false)}>
        <p class="soft">{t.admin.passkey_text}</p>
        <ByPasskey done={done} />
      </Dialog>
    );
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
