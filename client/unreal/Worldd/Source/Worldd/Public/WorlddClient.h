// A client of a worldd server in C++17, over worldd.h, which documents the functions. It needs neither exceptions nor RTTI, and knows
// no type of Unreal: arrays are pointers and numbers, so that TArray, std::vector and memory of a job all do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "worldd.h"

namespace worldd {

// Client owns a session. It belongs to one thread at a time, and moves like a unique_ptr.
class Client {
public:
    Client() = default;
    Client(Client&& other) noexcept : id(std::exchange(other.id, wd_client{0})), body(std::move(other.body)) {}
    Client& operator=(Client&& other) noexcept {
        if (this != &other) {
            Close();
            id = std::exchange(other.id, wd_client{0});
            body = std::move(other.body);
        }
        return *this;
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { Close(); }

    // Connect begins to connect. If it returns an error, error says what is wrong with def.
    wd_result Connect(const wd_client_def& def, std::string& error) {
        char text[1024] = "";
        Close();
        wd_result r = wd_create_client(&def, &id, text, sizeof text);
        error = text;
        return r;
    }

    // Close ends the session.
    void Close() {
        if (IsOpen()) wd_destroy_client(std::exchange(id, wd_client{0}));
    }

    bool IsOpen() const { return id.id != 0; }

    wd_result Update(double now) { return wd_update(id, now); }

    wd_status Status() const {
        wd_status s{};
        s.size = sizeof s;
        wd_get_status(id, &s);
        return s;
    }

    // Text returns one of WD_TEXT_ERROR ...
    std::string Text(std::int32_t which) const {
        std::string s(wd_text(id, which, nullptr, 0) + 1, '\0');
        wd_text(id, which, &s[0], s.size());
        s.pop_back();
        return s;
    }

    // PollEvents calls take(event, body) for all waiting events. The body ends with the call: read it with BodyAs.
    template <class Take>
    void PollEvents(Take&& take) {
        wd_event e{};
        e.size = sizeof e;
        if (body.empty()) body.resize(1024); // without room the library drops bodies
        for (;;) {
            wd_result r = wd_poll_event(id, &e, body.data(), body.size());
            if (r == WD_BAD_SIZE && e.body_size > body.size()) {
                body.resize(static_cast<std::size_t>(e.body_size));
                continue;
            }
            if (r != WD_OK) return;
            take(static_cast<const wd_event&>(e), static_cast<const void*>(body.data()));
        }
    }

    // BodyAs returns the body of an event as a struct of the generated header, or nullptr if the event has another.
    template <class Record>
    static const Record* BodyAs(const wd_event& e, const void* body) {
        static_assert(std::is_trivially_copyable<Record>::value, "a struct of the generated header");
        return e.body_size == sizeof(Record) ? static_cast<const Record*>(body) : nullptr;
    }

    wd_result Render(double* tick = nullptr) { return wd_render(id, tick); }

    std::int32_t Lookup(wd_handle h) const { return wd_lookup(id, h); }

    wd_result Lookup(const wd_handle* handles, std::size_t n, std::uint8_t* verdicts) const { return wd_lookup_many(id, handles, n, verdicts); }

    // Entities fills out with the handles of all entities in view.
    wd_result Entities(std::vector<wd_handle>& out) const {
        std::size_t n = 0;
        wd_result r = wd_entities(id, nullptr, 0, &n);
        out.resize(n);
        return r == WD_OK && n > 0 ? wd_entities(id, out.data(), n, &n) : r;
    }

    wd_result Entity(wd_handle h, wd_entity& out) const {
        out = wd_entity{};
        out.size = sizeof out;
        return wd_get_entity(id, h, &out);
    }

    // Read reads one field of n entities; out has as many elements for each as the field has: see worldd.h.
    wd_result Read(std::uint32_t component, std::uint32_t field, std::int32_t when, const wd_handle* handles, std::size_t n, float* out,
                   std::uint8_t* verdicts = nullptr) const {
        return wd_read_f32(id, component, field, when, handles, n, out, verdicts);
    }
    wd_result Read(std::uint32_t component, std::uint32_t field, std::int32_t when, const wd_handle* handles, std::size_t n, double* out,
                   std::uint8_t* verdicts = nullptr) const {
        return wd_read_f64(id, component, field, when, handles, n, out, verdicts);
    }
    wd_result Read(std::uint32_t component, std::uint32_t field, std::int32_t when, const wd_handle* handles, std::size_t n, std::uint64_t* out,
                   std::uint8_t* verdicts = nullptr) const {
        return wd_read_u64(id, component, field, when, handles, n, out, verdicts);
    }

    // ReadRecords reads a component of n entities as structs of the generated header.
    template <class Record>
    wd_result ReadRecords(std::uint32_t component, std::int32_t when, const wd_handle* handles, std::size_t n, Record* out,
                          std::uint8_t* verdicts = nullptr) const {
        static_assert(std::is_trivially_copyable<Record>::value, "a struct of the generated header");
        return wd_read_records(id, component, when, handles, n, out, sizeof(Record), verdicts);
    }

    // Do asks the server to execute a command once. The event WD_EVENT_RESULT has its number.
    template <class Args>
    wd_result Do(std::uint32_t command, wd_handle target, const Args& args, std::uint32_t* number = nullptr) {
        static_assert(std::is_trivially_copyable<Args>::value, "a struct of the generated header");
        return wd_do(id, command, target, &args, sizeof args, number);
    }

    // DoRaw is Do for a raw command: args is one value in msgpack. It asks for an entity for each of n handles of TakeProvisional, which
    // were taken one right after the other; the game reads them from args.
    wd_result DoRaw(std::uint32_t command, wd_handle target, const void* args, std::size_t size, std::uint32_t* number = nullptr,
                    const wd_handle* provisional = nullptr, std::size_t n = 0) {
        return wd_do_raw(id, command, target, args, size, provisional, n, number);
    }

    template <class Input>
    wd_result SetInput(const Input& input, std::uint32_t* tick = nullptr) {
        static_assert(std::is_trivially_copyable<Input>::value, "a struct of the generated header");
        return wd_set_input(id, &input, sizeof input, tick);
    }

    // SetRawInput is SetInput for a schema whose input is raw: at most 64 bytes.
    wd_result SetRawInput(const void* input, std::size_t size, std::uint32_t* tick = nullptr) { return wd_set_input(id, input, size, tick); }

    // Predict predicts the controlled entity from the inputs of SetInput: see wd_predict. step is an object that is called as
    // step(State& state, const Input& input, wd_step& call), inside Update and SetInput, and outlives the client. State has the structs of
    // these components, in their order, then what else the game needs.
    template <class State, class Input, class Step>
    wd_result Predict(const std::uint32_t* components, std::uint32_t n, Step& step, double snap = 0) {
        static_assert(std::is_trivially_copyable<State>::value && alignof(State) <= 8, "structs of the generated header");
        static_assert(std::is_trivially_copyable<Input>::value, "a struct of the generated header");
        static_assert(std::is_class<Step>::value && !std::is_const<Step>::value, "an object: a lambda in a variable, or a struct with operator()");
        wd_prediction_def def{};
        def.size = sizeof def;
        def.components = components;
        def.component_count = n;
        def.state_size = sizeof(State);
        def.snap = snap;
        def.user = &step;
        def.step = [](wd_step* call) { (*static_cast<Step*>(call->user))(*static_cast<State*>(call->state), *static_cast<const Input*>(call->input), *call); };
        return wd_predict(id, &def);
    }

    // ReadPredicted reads the predicted state: the newest, or the one to draw after Render. WD_NONE while nothing is predicted.
    template <class State>
    wd_result ReadPredicted(std::int32_t when, State& out) const {
        return wd_read_predicted(id, when, &out, sizeof out);
    }

    wd_result Prediction(wd_prediction& out) const {
        out = wd_prediction{};
        out.size = sizeof out;
        return wd_get_prediction(id, &out);
    }

    wd_result TakeProvisional(wd_handle& out) { return wd_take_provisional(id, &out); }

    wd_result Real(wd_handle h, wd_handle& out) const { return wd_real(id, h, &out); }

    // Id is for functions of worldd.h that this class lacks.
    wd_client Id() const { return id; }

private:
    wd_client id{0};
    std::vector<unsigned char> body; // of the newest event; its memory is aligned for any record
};

} // namespace worldd
