// A program that plays the session of client/c/engines through the wrapper for Unreal, and prints what it sees, one line each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "Modules/ModuleManager.h"
#include "WorlddClient.h"
#include "plot.h" // generated

IModuleInterface* InitializeWorlddModule();

static void Check(bool so, const char* what) {
    if (so) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
}

static double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static const char* const verdicts[] = {"Pending", "Live", "Hidden", "Stale", "Provisional"};

static unsigned Bits(float v) {
    unsigned bits;
    std::memcpy(&bits, &v, sizeof bits);
    return bits;
}

// Print reads all entities in bulk: one field, and whole records.
static void Print(const worldd::Client& client, const std::vector<wd_handle>& handles) {
    const std::size_t n = handles.size();
    std::vector<float> positions(3 * n);
    std::vector<plot_sign> signs(n);
    std::vector<std::uint8_t> has(n);
    Check(client.Read(PLOT_COMPONENT_BODY, PLOT_BODY_FIELD_POSITION, WD_NEWEST, handles.data(), n, positions.data()) == WD_OK, "positions");
    Check(client.ReadRecords(PLOT_COMPONENT_SIGN, WD_NEWEST, handles.data(), n, signs.data(), has.data()) == WD_OK, "records");
    for (std::size_t i = 0; i < n; i++) {
        const plot_sign& s = signs[i];
        if (has[i] == WD_LACKING) continue;
        std::printf("row %016llx %08x %08x %08x %d %016llx %d %d %08x %s ", (unsigned long long)handles[i], Bits(positions[3 * i]),
                    Bits(positions[3 * i + 1]), Bits(positions[3 * i + 2]), s.Rank, (unsigned long long)s.Friend, s.Lit, s.Marks[2], Bits(s.Facing[3]), s.Label);
        for (unsigned b = 0; b < s.Data_size; b++) std::printf("%s%02X", b ? "-" : "", s.Data[b]);
        std::printf("\n");
    }
}

// What the program predicts of its player: a body that its input moves.
struct Walk {
    plot_body body;
    std::uint32_t steps;
};

struct Walker {
    worldd::Client& client;
    int refused = 0; // calls inside the step function

    void operator()(Walk& walk, const plot_input& held, wd_step& call) {
        refused += client.Lookup(1) == WD_BUSY;
        walk.steps++;
        walk.body.Velocity[0] = held.X;
        walk.body.Velocity[2] = held.Z;
        walk.body.Position[0] += held.X / 60;
        walk.body.Position[2] += held.Z / 60;
        if (call.tick % 16 == 0) call.effects[call.effect_count++] = 7;
    }
};

static bool Predicts(const worldd::Client& client) {
    wd_prediction p;
    return client.Prediction(p) == WD_OK && p.agreed >= 20;
}

static void Play(worldd::Client& client, const Walker& walker) {
    std::vector<wd_handle> handles, stones;
    wd_handle victim = 0, seed = 0;
    std::uint32_t asked = 0, planted = 0, held = 0;
    bool answered = false, destroyed = false, struck = false, effect = false;
    const double began = Now();
    while (!(answered && destroyed && struck && planted && client.Lookup(seed) == WD_LIVE && effect && Predicts(client) && held && client.Status().applied_input >= held)) {
        plot_input stick{};
        std::uint32_t tick = 0;
        Check(Now() - began < 60, "in time");
        stick.X = 1;
        // Every second input is sent as bytes.
        if ((walker.refused % 2 ? client.SetInput(stick, &tick) : client.SetRawInput(&stick, sizeof stick, &tick)) == WD_OK && !held) held = tick;
        Check(client.Update(Now()) == WD_OK, "update");
        client.PollEvents([&](const wd_event& e, const void* body) {
            if (e.type == WD_EVENT_ENTER) {
                wd_entity entity;
                if (client.Entity(e.handle, entity) == WD_OK && entity.components >> PLOT_COMPONENT_SIGN & 1) stones.push_back(e.handle);
            }
            if (e.type == WD_EVENT_EFFECT) effect = e.number == 7 && e.tick % 16 == 0;
            if (e.type == WD_EVENT_DESTROY && e.handle == victim) destroyed = e.reason == 3;
            if (e.type == WD_EVENT_MESSAGE) {
                const plot_bell_event* bell = worldd::Client::BodyAs<plot_bell_event>(e, body);
                struck = e.number == PLOT_EVENT_BELL && bell && std::strcmp(bell->Word, "gone") == 0;
            }
            if (e.type == WD_EVENT_RESULT && planted && e.id == planted) {
                wd_handle real = 0;
                Check(client.Real(seed, real) == WD_OK && real && real != seed, "the handle of the seed");
                std::printf("planted %d Live\n", e.code);
            } else if (e.type == WD_EVENT_RESULT) {
                const plot_break_answer* answer = worldd::Client::BodyAs<plot_break_answer>(e, body);
                Check(e.id == asked && answer && !worldd::Client::BodyAs<plot_input>(e, body), "the answer");
                std::printf("answer %d verdict %s %s\n", e.code, verdicts[e.verdict], answer->Words);
                answered = true;
                Check(client.TakeProvisional(seed) == WD_OK, "a provisional handle");
                unsigned char plant[9] = {0xcf}; // msgpack: 64 bits, the highest first
                for (int i = 0; i < 8; i++) plant[i + 1] = static_cast<unsigned char>(seed >> (56 - 8 * i));
                Check(client.DoRaw(PLOT_COMMAND_PLANT, 0, plant, sizeof plant, nullptr, &victim, 1) == WD_REFUSED, "another handle than a provisional one");
                Check(client.DoRaw(PLOT_COMMAND_PLANT, 0, plant, sizeof plant, &planted, &seed, 1) == WD_OK, "the raw command is sent");
            }
        });
        if (asked == 0 && client.Render() == WD_OK && client.Entities(handles) == WD_OK && handles.size() == 42) {
            plot_break_args who{};
            Print(client, handles);
            victim = *std::min_element(stones.begin(), stones.end());
            std::strcpy(who.Name, "Zoë");
            Check(client.Do(PLOT_COMMAND_BREAK, victim, who, &asked) == WD_OK, "the command is sent");
            std::printf("victim %016llx %s\n", (unsigned long long)victim, verdicts[client.Lookup(victim)]);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    Walk drawn{};
    wd_prediction p;
    Check(client.ReadPredicted(WD_RENDERED, drawn) == WD_OK && client.Prediction(p) == WD_OK, "a prediction");
    Check(drawn.body.Position[0] > 0 && drawn.steps > 0 && walker.refused > 0, "the predicted state");
    std::printf("predicted %llu agreed %llu corrected %llu missed\n", (unsigned long long)p.agreed, (unsigned long long)p.corrected, (unsigned long long)p.missed);
    std::printf("stale %016llx %s controlled %s\n", (unsigned long long)victim, verdicts[client.Lookup(victim)], verdicts[client.Lookup(client.Status().controlled)]);
}

int main(int argc, char** argv) {
    Check(argc == 3, "two arguments");
    IModuleInterface* module = InitializeWorlddModule();
    module->StartupModule();
    worldd::Client client;
    std::string error;
    wd_client_def def = wd_default_client_def();
    def.address = "nowhere";
    Check(client.Connect(def, error) == WD_BAD_ARGUMENT && !client.IsOpen() && error.find("nowhere") != std::string::npos, "a mistake");
    def.address = argv[1];
    def.fingerprint = argv[2];
    def.schema = plot_schema;
    Check(client.Connect(def, error) == WD_OK, error.c_str());
    worldd::Client moved = std::move(client);
    Check(!client.IsOpen() && moved.IsOpen() && client.Update(0) == WD_BAD_CLIENT, "moved");
    Walker walker{moved};
    const std::uint32_t predicted[] = {PLOT_COMPONENT_BODY};
    auto small = [](plot_input&, const plot_input&, wd_step&) {};
    Check(moved.Predict<plot_input, plot_input>(predicted, 1, small) == WD_BAD_SIZE, "a state that is too small");
    Check(moved.Predict<Walk, plot_input>(predicted, 1, walker) == WD_OK, moved.Text(WD_TEXT_ERROR).c_str());
    Check(moved.Predict<Walk, plot_input>(predicted, 1, walker) == WD_REFUSED, "one prediction");
    Play(moved, walker);
    module->ShutdownModule();
    Check(moved.Update(Now()) == WD_BAD_CLIENT, "the module's end destroys clients");
    delete module;
    std::printf("end\n");
}
