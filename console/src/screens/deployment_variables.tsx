// A deployment's variables: names and values side by side, as a table or as the text of a .env file. Values are never
// given back; what isn't typed anew stays. Those that it inherits from its app are among them; a value makes them its own.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { call } from '../api';
import { useGuard } from '../components/form';
import { note } from '../components/notes';
import { missing_of, Sum } from '../components/sum';
import { Read } from '../components/table';
import { Button, Card, Choices, Failed } from '../components/ui';
import { useReading, useSubmit } from '../components/use';
import { changes_of, type Edited } from '../components/variable_rows';
import { VariableTable, VariableText } from '../components/variables';
import { change, type Deployment } from '../data';
import { t } from '../messages';
import { Differences } from './deployment_history';
import { useCostIfUnpaid } from './deployment_price';

const fresh = (): Edited => ({ name: '', stored: false, value: '' });

// What was typed on screens that were left, by their addresses.
const drafts = new Map<string, Edited[]>();

// `save` gets what has changed, stores it and reads the variables again. `intro` is what people have to know.
export function VariableEditor({
  intro,
  field = 'env_vars',
  stored,
  cost = null,
  save,
}: {
  intro: preact.ComponentChildren;
  field?: 'env_vars' | 'app_variables';
  stored: Edited[];
  cost?: ReturnType<typeof useCostIfUnpaid>;
  save: (variables: Record<string, string | null>) => Promise<void>;
}) {
  const screen = location.pathname;
  const [rows, set_rows] = useState<Edited[]>(() => drafts.get(screen) ?? (stored.length ? stored : [fresh()]));
  const edit = (now: Edited[]) => {
    drafts.set(screen, now);
    set_rows(now);
  };
  const discard = () => {
    drafts.delete(screen);
    set_rows(stored.length ? stored : [fresh()]);
  };
  const [as_text, show_text] = useState(false);
  const { env_vars, added, changed, removed } = changes_of(rows);
  const waiting = Object.keys(env_vars).length;
  const { busy, error, submit } = useSubmit(async () => {
    drafts.delete(screen); // `save` shows what is stored
    await save(env_vars).catch((failure) => {
      drafts.set(screen, rows);
      throw failure;
    });
  });
  useGuard(waiting > 0 && !busy);
  return (
    <Card
      title={t.variables.heading}
      actions={
        <Choices<boolean>
          label={t.variables.form}
          of={[false, true]}
          chosen={as_text}
          choose={show_text}
          name={(text) => (text ? t.variables.text : t.variables.table)}
        />
      }>
      <div class="stack">
        <p class="small soft">
          {t.variables.sealed} {intro}
        </p>
        {as_text ? (
          <>
            <VariableText rows={rows} onChange={edit} />
            <p class="small faint">{t.variables.text_hint}</p>
          </>
        ) : (
          <>
            <VariableTable rows={rows} onChange={edit} />
            <div class="row tight">
              <Button slim icon="plus" onClick={() => edit([...rows, fresh()])}>
                {t.variables.add}
              </Button>
              <span class="small faint">{t.variables.paste_hint}</span>
            </div>
          </>
        )}
        {waiting > 0 && <Differences of={[{ field, added, changed, removed }]} />}
        {cost && <Sum {...cost} />}
        {error && <Failed error={error} />}
        <div class="row">
          <Button
            kinds={['main-action']}
            busy={busy}
            disabled={waiting === 0 || missing_of(cost) > 0}
            onClick={() => submit()}>
            {t.variables.save(waiting)}
          </Button>
          {waiting > 0 && <Button onClick={discard}>{t.variables.discard}</Button>}
        </div>
      </div>
    </Card>
  );
}

export const by_name = (a: Edited, b: Edited) => (a.name < b.name ? -1 : 1);

function Own({ deployment, stored, again }: { deployment: Deployment; stored: Edited[]; again: () => void }) {
  const cost = useCostIfUnpaid(deployment);
  return (
    <VariableEditor
      intro={
        <>
          {t.variables.rollout} {t.variables.inherited}{' '}
          <Link href={`/apps/${deployment.app_id}/variables`}>{t.variables.to_app}</Link>
        </>
      }
      stored={stored}
      cost={cost}
      save={async (env_vars) => {
        await change(deployment, { env_vars });
        note(t.variables.saved);
        again();
      }}
    />
  );
}

export function VariablesTab({ deployment }: { deployment: Deployment }) {
  const list = useReading(
    () => call('get', '/api/deploy/apps/{id}/env', { path: { id: deployment.id }, app: deployment.app_id }),
    [deployment.id],
  );
  return (
    <Read of={list}>
      {({ variables }) => (
        <Own
          key={variables.map((one) => one.name + one.digest + one.overrides).join()}
          deployment={deployment}
          again={list.again}
          stored={variables
            .map(({ name, set_at, from, overrides }) => ({
              name,
              stored: true,
              set_at: set_at ?? null,
              inherited: from === 'app',
              overrides,
            }))
            .sort(by_name)}
        />
      )}
    </Read>
  );
}
